/**
 * Trains a model on all ranks of a job, with the options of a command line: sharing of the model, precision, optimizer,
 * checkpoints, reports. Entry class: {@code Trainer}.
 *
 * <p>A model whose training ends at a low loss:
 *
 * {@snippet file="io/jrun/trainer/CallbackExample.java"}
 */
@NullMarked
package io.jrun.trainer;

import org.jspecify.annotations.NullMarked;
