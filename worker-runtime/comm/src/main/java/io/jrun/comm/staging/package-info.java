/**
 * jrun's own plane for memory of GPUs: operations run in host memory, on the host's data plane of the group. The copies
 * between device memory and pinned host memory are queued on streams when the program calls an operation, so that the
 * program does not wait. Entry class: {@code DevicePlane}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend} and {@code cuda}.
 */
@NullMarked
package io.jrun.comm.staging;

import org.jspecify.annotations.NullMarked;
