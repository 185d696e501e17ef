/**
 * Reads the hosts of a job as users write them: host lists in Slurm's grammar, and host files of Open MPI and
 * DeepSpeed. Entry classes: {@code HostList} and {@code HostFile}.
 */
@NullMarked
package io.jrun.launcher.hostlist;

import org.jspecify.annotations.NullMarked;
