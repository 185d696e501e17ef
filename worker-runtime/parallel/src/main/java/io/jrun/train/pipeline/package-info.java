/**
 * Pipeline parallelism: the ranks of a group share the layers of a model, and micro-batches pass from rank to rank.
 * Begin with {@link io.jrun.train.pipeline.PipelineParallel}. Sources: Huang et al. 2019 (GPipe, arXiv 1811.06965),
 * Narayanan et al. 2021 (1F1B and virtual stages, arXiv 2104.04473), Qi et al. 2023 (zero bubble, arXiv 2401.10241).
 *
 * <p>Each rank has one layer:
 *
 * {@snippet file="io/jrun/train/pipeline/PipelineExample.java"}
 */
@NullMarked
package io.jrun.train.pipeline;

import org.jspecify.annotations.NullMarked;
