/** Training that outlives the loss of some of its workers. Entry: {@link io.jrun.train.elastic.TrainingState}. */
@NullMarked
package io.jrun.train.elastic;

import org.jspecify.annotations.NullMarked;
