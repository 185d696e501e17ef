/**
 * The data plane inside a node: ranks share memory under /dev/shm. Entry class:
 * {@code ShmBackendFactory}.
 */
@NullMarked
package io.jrun.comm.shm;

import org.jspecify.annotations.NullMarked;
