/**
 * Metrics of a running job for other programs: the endpoint of {@code --metrics-port} for Prometheus and other
 * collectors, and the MLflow server of {@code --track}.
 */
@NullMarked
package io.jrun.launcher.metrics;

import org.jspecify.annotations.NullMarked;
