/** The command lines of the example programs. Entry class: {@code CommandLineArguments}. */
@NullMarked
package io.jrun.examples.options;

import org.jspecify.annotations.NullMarked;
