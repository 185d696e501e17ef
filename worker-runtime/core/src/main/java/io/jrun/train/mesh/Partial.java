package io.jrun.train.mesh;

import io.jrun.comm.ReduceOp;

/**
 * Each rank holds a contribution of the size of the whole tensor; the value is the reduction over the ranks.
 *
 * @param op the reduction, such as SUM
 */
public record Partial(ReduceOp op) implements TensorPlacement {}
