/** One training step, whatever the ranks share. Entry class: {@code Step}. */
@NullMarked
package io.jrun.train.step;

import org.jspecify.annotations.NullMarked;
