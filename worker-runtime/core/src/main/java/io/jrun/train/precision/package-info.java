/**
 * Training with numbers of fewer bits: {@link io.jrun.train.precision.Autocast} for bfloat16,
 * {@link io.jrun.train.precision.LossScaler} for float16, {@link io.jrun.train.precision.Float8Linear} for 8 bits.
 * Float32 master weights are in {@code io.jrun.train.optim}.
 */
@NullMarked
package io.jrun.train.precision;

import org.jspecify.annotations.NullMarked;
