/** Programs that outlive the loss of some of their workers. Entry: {@link io.jrun.comm.elastic.Elastic}. */
@NullMarked
package io.jrun.comm.elastic;

import org.jspecify.annotations.NullMarked;
