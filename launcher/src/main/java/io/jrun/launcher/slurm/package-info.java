/**
 * Jobs in a Slurm allocation: what Slurm has given, and how agents are started on it. Entry classes: {@link
 * io.jrun.launcher.slurm.Allocation} and {@link io.jrun.launcher.slurm.SrunBootstrap}.
 */
@NullMarked
package io.jrun.launcher.slurm;

import org.jspecify.annotations.NullMarked;
