/**
 * The CUDA runtime through the foreign function interface: device memory, pinned host memory, streams, events and
 * copies. Loads nothing before the first use of {@code Cuda.open}. Source of names, numbers and layouts:
 * driver_types.h of CUDA 12.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package and
 * {@code file}.
 */
@NullMarked
package io.jrun.comm.cuda;

import org.jspecify.annotations.NullMarked;
