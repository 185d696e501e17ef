/**
 * Tensors that are spread over the ranks of a mesh: how ({@code TensorPlacement}), and which part a rank holds
 * ({@code ShardedTensor}). What checkpoints, norms and initialisation need to know of a parallel model.
 */
@NullMarked
package io.jrun.train.mesh;

import org.jspecify.annotations.NullMarked;
