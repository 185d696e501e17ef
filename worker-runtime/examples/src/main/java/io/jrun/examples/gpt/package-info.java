/**
 * The example program train.jar: a GPT-2 or a Llama of any size, trained on text by the trainer. It uses only what every
 * user of jrun can use. Entry class: {@code TrainGpt}.
 */
@NullMarked
package io.jrun.examples.gpt;

import org.jspecify.annotations.NullMarked;
