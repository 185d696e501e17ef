/**
 * Joins a process to its world: over an agent, over MPI, or alone.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code collective}, {@code control}, {@code cuda}, {@code file}, {@code flight}, {@code group},
 * {@code hierarchy}, {@code mpi}, {@code record}, {@code shm}, {@code store},
 * {@code tcp} and {@code timeline}.
 */
@NullMarked
package io.jrun.comm.join;

import org.jspecify.annotations.NullMarked;
