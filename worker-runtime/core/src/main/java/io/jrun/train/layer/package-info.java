/**
 * Layers whose computation a parallelism may replace. A model of these layers is written once, for one rank. Tensor and
 * context parallelism then find the layers by their names and give them other operations and other parts of the
 * parameters.
 */
@NullMarked
package io.jrun.train.layer;

import org.jspecify.annotations.NullMarked;
