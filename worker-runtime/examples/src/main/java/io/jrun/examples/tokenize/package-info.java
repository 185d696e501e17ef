/** The example program tokenize.jar: encodes text into a token file. Entry class: {@code Tokenize}. */
@NullMarked
package io.jrun.examples.tokenize;

import org.jspecify.annotations.NullMarked;
