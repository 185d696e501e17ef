/**
 * The data plane inside a node: ranks share memory under /dev/shm. The entry class is {@code ShmBackendFactory}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code control}, {@code file} and {@code kernel}.
 */
@NullMarked
package io.jrun.comm.shm;

import org.jspecify.annotations.NullMarked;
