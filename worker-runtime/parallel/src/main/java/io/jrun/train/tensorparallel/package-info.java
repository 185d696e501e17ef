/**
 * Tensor and sequence parallelism: several ranks share each layer. Begin with
 * {@link io.jrun.train.tensorparallel.TensorParallel}. Sources: Shoeybi et al. 2019 (Megatron-LM, arXiv 1909.08053) for
 * the layers, Korthikanti et al. 2022 (arXiv 2205.05198) for sequence parallelism.
 *
 * <p>All ranks share a feed-forward layer:
 *
 * {@snippet file="io/jrun/train/tensorparallel/TensorParallelExample.java"}
 */
@NullMarked
package io.jrun.train.tensorparallel;

import org.jspecify.annotations.NullMarked;
