/** Conversations as tokens: the chat template of a model, and the tokens of the answers. Entry class: {@code ChatEncoder}. */
@NullMarked
package io.jrun.train.chat;

import org.jspecify.annotations.NullMarked;
