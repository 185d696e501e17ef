/**
 * Fully sharded data parallelism: each rank keeps a part of parameters, gradients and optimizer states, and gathers the
 * parameters of a unit while the unit computes. Entry class: {@code FullyShardedDataParallel}.
 *
 * <p>The ranks share the states of a model, and other ranks its layers:
 *
 * {@snippet file="io/jrun/examples/own/MeshLoop.java"}
 */
@NullMarked
package io.jrun.train.fsdp;

import org.jspecify.annotations.NullMarked;
