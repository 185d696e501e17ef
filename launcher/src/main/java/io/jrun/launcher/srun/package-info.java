/** Agents that {@code srun} starts in a Slurm allocation. Entry class: {@code SrunAgentLauncher}. */
@NullMarked
package io.jrun.launcher.srun;

import org.jspecify.annotations.NullMarked;
