/** The endpoint of {@code --metrics-port}: metrics of a running job for Prometheus and other collectors. */
@NullMarked
package io.jrun.launcher.metrics;

import org.jspecify.annotations.NullMarked;
