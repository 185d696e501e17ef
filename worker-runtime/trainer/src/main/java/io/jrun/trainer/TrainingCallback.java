package io.jrun.trainer;

/**
 * Code of a program that runs at moments of its training. A program gives its callbacks by {@link ModelFactory#callbacks}. All
 * ranks call the same methods at the same steps, so a method may make collective calls of the world. An exception ends
 * the job.
 */
public interface TrainingCallback {
    /** Called after each step, before the evaluation and the checkpoint of the step. */
    default void stepEnded(TrainingMoment moment) {}

    /**
     * Called after each evaluation, also after the one at the end.
     *
     * @param heldOutLoss the mean loss of the held-out samples, equal on all ranks
     */
    default void evaluated(TrainingMoment moment, double heldOutLoss) {}

    /** Called after each save; a save in the background has begun. */
    default void checkpointSaved(TrainingMoment moment) {}

    /** Called once after the last step, before the evaluation at the end. */
    default void ended(TrainingMoment moment) {}
}
