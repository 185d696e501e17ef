/** Programs that survive the loss of some of their workers. The entry class is {@code Elastic}. */
@NullMarked
package io.jrun.comm.elastic;

import org.jspecify.annotations.NullMarked;
