/** The training data of the example programs. Entry class: {@code TokenCorpus}. */
@NullMarked
package io.jrun.examples.data;

import org.jspecify.annotations.NullMarked;
