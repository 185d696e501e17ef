/**
 * Stages 1 and 2 of ZeRO: each rank updates a part of the parameters, and all ranks then take over the updated parts.
 * Entry class: {@code ZeroOptimizer}. Stage 3 is {@code io.jrun.train.fsdp}.
 */
@NullMarked
package io.jrun.train.zero;

import org.jspecify.annotations.NullMarked;
