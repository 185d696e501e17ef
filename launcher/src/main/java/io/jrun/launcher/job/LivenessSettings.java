package io.jrun.launcher.job;

import java.time.Duration;
import java.util.Optional;

/**
 * When a worker counts as hung. Only workers that jrun's runtime runs in are judged.
 *
 * @param workerTimeout it has given no sign of life for so long; empty: never
 * @param progressTimeout it has begun no operation of a process group for so long, and is in none; empty: never
 */
public record LivenessSettings(Optional<Duration> workerTimeout, Optional<Duration> progressTimeout) {}
