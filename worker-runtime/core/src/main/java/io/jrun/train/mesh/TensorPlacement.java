package io.jrun.train.mesh;

/**
 * The distribution of a tensor over the ranks of one mesh axis: torch's {@code DTensor} placements, and one for
 * pipelines.
 */
public sealed interface TensorPlacement permits Shard, Replicate, Partial, OnRanks {}
