/** Agents that {@code srun} starts in a Slurm allocation. Entry class: {@link io.jrun.launcher.srun.SrunBootstrap}. */
@NullMarked
package io.jrun.launcher.srun;

import org.jspecify.annotations.NullMarked;
