package io.jrun.bench;

import java.util.List;

/** A mode that trains {@link BenchGpt} step by step. */
interface TrainingLoop extends AutoCloseable {
    /** Runs forward, backward and update. */
    StepResult step(BenchData.Batch batch);

    /**
     * For each gradient bucket of the last step, the part of its communication that ran during the backward pass, 0 to
     * 1. Empty for a loop that does not measure buckets.
     */
    default List<Double> overlapPerBucket() {
        return List.of();
    }

    @Override
    void close();
}
