/**
 * Programs that survive the loss of some of their workers. The entry class is {@code Elastic}.
 *
 * <p>For programs. May use only the root package.
 */
@NullMarked
package io.jrun.comm.elastic;

import org.jspecify.annotations.NullMarked;
