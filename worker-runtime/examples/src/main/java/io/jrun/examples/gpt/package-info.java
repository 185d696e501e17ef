/**
 * The example program train.jar: a byte-level GPT trained with DistributedDataParallel on real text. It is what a user of
 * jrun would write, so it uses nothing that a user could not. Entry class: {@link io.jrun.examples.gpt.TrainGpt}.
 */
@NullMarked
package io.jrun.examples.gpt;

import org.jspecify.annotations.NullMarked;
