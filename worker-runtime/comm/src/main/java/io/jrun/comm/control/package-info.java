/**
 * The control connection between a worker and its node's agent: a unix-domain stream of small length-prefixed frames.
 * Entry class: {@code FrameCodec}, the only place that knows the byte layout.
 */
@NullMarked
package io.jrun.comm.control;

import org.jspecify.annotations.NullMarked;
