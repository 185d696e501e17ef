package io.jrun.train.mesh;

/** Each rank holds the whole tensor, with equal values. */
public record Replicate() implements TensorPlacement {}
