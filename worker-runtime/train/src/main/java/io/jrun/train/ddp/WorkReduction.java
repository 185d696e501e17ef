package io.jrun.train.ddp;

import io.jrun.comm.Work;

/**
 * A reduction that is one operation of the group. Records when the operation ended, also if no thread waited for the
 * end.
 */
final class WorkReduction implements BucketReduction {
    private final Work work;
    private volatile long endedNanos;

    WorkReduction(Work work) {
        this.work = work;
        var _ = work.future().whenComplete((_, _) -> endedNanos = System.nanoTime());
    }

    @Override
    public void finish() {
        work.await();
    }

    /** The time at which the operation ended, as a value of {@link System#nanoTime}; 0 while the operation runs. */
    long endedNanos() {
        return endedNanos;
    }
}
