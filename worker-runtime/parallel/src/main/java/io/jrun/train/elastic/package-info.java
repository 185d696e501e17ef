/** Training that continues after the loss of some of its workers. Entry class: {@code TrainingState}. */
@NullMarked
package io.jrun.train.elastic;

import org.jspecify.annotations.NullMarked;
