/**
 * Checkpoints of several ranks: a state dictionary whose tensors may be sharded, a save in which each rank writes its
 * share, a commit in one atomic step, and a load with any number of ranks. Entry classes: {@code CheckpointManager},
 * {@code StateDict}.
 */
@NullMarked
package io.jrun.train.checkpoint.sharded;

import org.jspecify.annotations.NullMarked;
