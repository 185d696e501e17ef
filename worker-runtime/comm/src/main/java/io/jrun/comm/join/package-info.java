/** Joins a process to its world: over an agent, over MPI, or alone. */
@NullMarked
package io.jrun.comm.join;

import org.jspecify.annotations.NullMarked;
