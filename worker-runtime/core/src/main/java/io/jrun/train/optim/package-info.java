/**
 * Optimizers whose parameters, gradients and state lie one behind the other in memory, learning-rate schedules, and
 * averages of parameters. Begin with {@link io.jrun.train.optim.FusedAdamW} or {@link io.jrun.train.optim.FusedSgd}.
 */
@NullMarked
package io.jrun.train.optim;

import org.jspecify.annotations.NullMarked;
