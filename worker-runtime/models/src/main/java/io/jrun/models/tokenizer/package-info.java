/** Opens the tokenizer of a model. Entry class: {@code Tokenizers}. */
@NullMarked
package io.jrun.models.tokenizer;

import org.jspecify.annotations.NullMarked;
