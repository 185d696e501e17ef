package io.jrun.launcher.job;

import java.time.Duration;
import java.util.Optional;

/**
 * The times after which a worker counts as hung. They apply only to workers with jrun's runtime.
 *
 * @param workerTimeout longest time without a sign of life; empty: no limit
 * @param progressTimeout longest time in which the worker begins no operation of a process group and is in none; empty:
 *     no limit
 */
public record LivenessSettings(Optional<Duration> workerTimeout, Optional<Duration> progressTimeout) {}
