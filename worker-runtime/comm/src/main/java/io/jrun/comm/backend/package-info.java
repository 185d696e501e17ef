/**
 * What a data plane implements so that a {@code ProcessGroup} can run on it: one {@code Backend} per group, made by
 * the world's {@code BackendFactory}. Argument checks, call order, queues and the bookkeeping of failures are the
 * group's and are done before a backend is asked.
 *
 * <p>For implementations of backends and for jrun. Not for programs. May use the root package, {@code control} and
 * {@code record}.
 */
@NullMarked
package io.jrun.comm.backend;

import org.jspecify.annotations.NullMarked;
