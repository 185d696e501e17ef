/**
 * Data parallel training: every rank holds the whole model and a share of the batch, gradients are averaged while the
 * backward pass is still running. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
 * VLDB 2020. Entry class: {@code DistributedDataParallel}.
 *
 * <p>The program of {@code jrun init}:
 *
 * {@snippet file="io/jrun/launcher/init/Train.java"}
 */
@NullMarked
package io.jrun.train.ddp;

import org.jspecify.annotations.NullMarked;
