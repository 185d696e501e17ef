/**
 * Activation checkpointing: a part of a model keeps only its inputs and computes the rest again in the backward pass.
 * Begin with {@link io.jrun.train.recompute.RecomputedSegment}. Source: Chen and others, arXiv:1604.06174.
 */
@NullMarked
package io.jrun.train.recompute;

import org.jspecify.annotations.NullMarked;
