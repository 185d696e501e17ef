/**
 * Metrics of a training: where the time of a step goes, tokens a second, model FLOPs utilisation, loss and gradient
 * norm, for jrun ({@code World.metrics()}) and as TensorBoard event files. Begin with
 * {@link io.jrun.train.metrics.StepMetrics}.
 *
 * <p>Each step of a training is reported:
 *
 * {@snippet file="io/jrun/train/metrics/MetricsExample.java"}
 */
@NullMarked
package io.jrun.train.metrics;

import org.jspecify.annotations.NullMarked;
