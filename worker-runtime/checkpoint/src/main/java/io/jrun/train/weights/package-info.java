/**
 * Loads pre-trained weights into a module: from one file, or from a Hugging Face folder, on each rank, or once for each
 * node, or once for the job. Entry class: {@code WeightLoader}.
 *
 * <p>All ranks load a file that rank 0 reads:
 *
 * {@snippet file="io/jrun/train/weights/WeightsExample.java"}
 */
@NullMarked
package io.jrun.train.weights;

import org.jspecify.annotations.NullMarked;
