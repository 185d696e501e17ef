/** Programs that outlive the loss of some of their workers. Entry: {@code Elastic}. */
@NullMarked
package io.jrun.comm.elastic;

import org.jspecify.annotations.NullMarked;
