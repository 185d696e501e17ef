/**
 * The backend {@code mpi}: the system's Open MPI (libmpi.so.40, versions 4.0 and 4.1) through the foreign function
 * interface, in processes that mpirun or srun --mpi=pmix has started. Source of names and types: mpi.h of Open MPI
 * 4.1, whose handles are the addresses of the library's global objects. Entry classes: {@code MpiProvider}, and
 * {@code MpiJob} for a world whose ranks MPI has started.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code control} and {@code kernel}.
 */
@NullMarked
package io.jrun.comm.mpi;

import org.jspecify.annotations.NullMarked;
