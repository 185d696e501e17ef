/** The command lines of training programs. Entry class: {@code CommandLineArguments}. */
@NullMarked
package io.jrun.trainer.arguments;

import org.jspecify.annotations.NullMarked;
