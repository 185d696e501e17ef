package io.jrun.launcher.job;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where the facts of a job go besides its record.
 *
 * @param metricsAddress unresolved address where the launcher serves metrics; empty for nowhere
 * @param mlflow address of an MLflow server; empty for none
 * @param report absolute path of the page that jrun writes at the end of the job; empty for none
 * @param wholeTimelines whether the workers record all spans and operations, or the last ones
 */
public record ObservationSettings(
        Optional<InetSocketAddress> metricsAddress,
        Optional<URI> mlflow,
        Optional<Path> report,
        boolean wholeTimelines) {}
