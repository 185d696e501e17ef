/**
 * Which samples each rank sees. Entry class: {@code DistributedSampler}, after torch's
 * {@code torch/utils/data/distributed.py}.
 */
@NullMarked
package io.jrun.train.data;

import org.jspecify.annotations.NullMarked;
