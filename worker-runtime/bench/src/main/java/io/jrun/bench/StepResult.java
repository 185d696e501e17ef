package io.jrun.bench;

/**
 * One step of a {@link TrainingLoop} on this rank.
 *
 * @param loss the loss of this rank's batch before the update
 * @param backwardNanos the backward pass without the communication for which the pass waited
 * @param exposedNanos communication for which the step waited; 0 if the loop cannot separate the communication from the
 *     backward pass
 */
record StepResult(float loss, long forwardNanos, long backwardNanos, long exposedNanos, long optimizerNanos) {
    /** Names of the phases, in the order of {@link #phases}. */
    static final String[] PHASES = {"forward", "backward", "exposed", "optimizer"};

    /** The result of a step whose parts began and ended at these times. */
    static StepResult of(float loss, long begin, long forwardEnd, long backwardEnd, long exposed) {
        long end = System.nanoTime();
        return new StepResult(loss, forwardEnd - begin, backwardEnd - forwardEnd - exposed, exposed, end - backwardEnd);
    }

    /** The durations of all phases, in nanoseconds. */
    long[] phases() {
        return new long[] {forwardNanos, backwardNanos, exposedNanos, optimizerNanos};
    }
}
