/**
 * The control connection between a worker and its node's agent: a unix-domain stream of small length-prefixed frames.
 * Only {@code FrameCodec} knows the byte layout.
 */
@NullMarked
package io.jrun.comm.control;

import org.jspecify.annotations.NullMarked;
