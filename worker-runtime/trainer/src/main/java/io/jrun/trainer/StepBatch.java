package io.jrun.trainer;

import io.jrun.train.data.Batch;

/**
 * A batch of a step.
 *
 * @param weight the loss of the batch counts with this weight in the mean over all batches of the step
 */
record StepBatch(Batch batch, double weight) {
    /** A batch that counts as much as each other. */
    static StepBatch of(Batch batch) {
        return new StepBatch(batch, 1);
    }
}
