/**
 * The service provider interface of data planes: a {@code Backend} runs the operations of one group, and a
 * {@code BackendFactory} makes the backends of one world. The group checks arguments, orders and queues calls, and
 * records failures before it calls a backend.
 *
 * <p>For implementations of backends and for jrun. Not for programs. May use the root package, {@code control} and
 * {@code record}.
 */
@NullMarked
package io.jrun.comm.backend;

import org.jspecify.annotations.NullMarked;
