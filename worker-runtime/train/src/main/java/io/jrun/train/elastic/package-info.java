/** Training that outlives the loss of some of its workers. Entry: {@code TrainingState}. */
@NullMarked
package io.jrun.train.elastic;

import org.jspecify.annotations.NullMarked;
