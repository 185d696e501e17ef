package io.jrun.bench;

/** A mode that trains {@link BenchGpt} step by step. */
interface TrainingLoop extends AutoCloseable {
    /** Runs forward, backward and update. */
    StepResult step(BenchData.Batch batch);

    @Override
    void close();
}
