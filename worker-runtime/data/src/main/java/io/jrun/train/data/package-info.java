/**
 * Divides samples among ranks, and reads the samples. Entry classes: {@code DataLoader}, and {@code
 * DistributedSampler}, after torch's {@code torch/utils/data}.
 *
 * <p>Each rank reads other samples:
 *
 * {@snippet file="io/jrun/train/data/DataExample.java"}
 */
@NullMarked
package io.jrun.train.data;

import org.jspecify.annotations.NullMarked;
