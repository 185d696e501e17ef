/**
 * Which samples each rank sees, and how the samples are read. Entry classes: {@code DataLoader}, and {@code
 * DistributedSampler}, after torch's {@code torch/utils/data}.
 */
@NullMarked
package io.jrun.train.data;

import org.jspecify.annotations.NullMarked;
