/**
 * The data plane inside a node: ranks share memory under /dev/shm. Entry class:
 * {@link io.jrun.comm.shm.ShmBackendFactory}.
 */
@NullMarked
package io.jrun.comm.shm;

import org.jspecify.annotations.NullMarked;
