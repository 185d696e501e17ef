/**
 * The backend {@code nccl}: NVIDIA's libnccl.so.2 through the foreign function interface, one communicator and one
 * stream per group. It runs collectives on device memory ({@link java.lang.foreign.MemorySegment#ofAddress} of a CUDA
 * tensor). Source of names, numbers and layouts: nccl.h of NCCL 2.18 and driver_types.h of CUDA 12. Entry class:
 * {@code NcclProvider}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules.
 */
@NullMarked
package io.jrun.train.nccl;

import org.jspecify.annotations.NullMarked;
