/**
 * The control connection between a worker and its node's agent: a unix-domain stream of small length-prefixed frames.
 * Only {@code FrameCodec} knows the byte layout.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package and
 * {@code record}.
 */
@NullMarked
package io.jrun.comm.control;

import org.jspecify.annotations.NullMarked;
