/** The texts and token files of a training program. Entry class: {@code TokenCorpus}. */
@NullMarked
package io.jrun.trainer.data;

import org.jspecify.annotations.NullMarked;
