/** How a process joins its world: by an agent, by MPI, or alone. */
@NullMarked
package io.jrun.comm.join;

import org.jspecify.annotations.NullMarked;
