package io.jrun.train.mesh;

/** How a tensor is spread over the ranks of one mesh axis; torch's {@code DTensor} placements. */
public sealed interface TensorPlacement permits Shard, Replicate, Partial {}
