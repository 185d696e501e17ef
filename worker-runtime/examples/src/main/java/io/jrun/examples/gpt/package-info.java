/**
 * The example program train.jar: a GPT trained with DistributedDataParallel on real text. It uses
 * only what every user of jrun can use. Entry class: {@code TrainGpt}.
 */
@NullMarked
package io.jrun.examples.gpt;

import org.jspecify.annotations.NullMarked;
