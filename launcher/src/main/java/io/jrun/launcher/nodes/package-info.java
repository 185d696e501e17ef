/**
 * Which hosts a job runs on, as people write it down: host lists in Slurm's grammar and host files of Open MPI and
 * DeepSpeed. Entry classes: {@link io.jrun.launcher.nodes.HostList} and {@link io.jrun.launcher.nodes.HostFile}.
 */
@NullMarked
package io.jrun.launcher.nodes;

import org.jspecify.annotations.NullMarked;
