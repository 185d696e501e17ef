/**
 * Reads Slurm allocations and writes scripts for {@code sbatch}. Entry classes: {@link
 * io.jrun.launcher.slurm.Allocation} and {@code BatchScript}.
 */
@NullMarked
package io.jrun.launcher.slurm;

import org.jspecify.annotations.NullMarked;
