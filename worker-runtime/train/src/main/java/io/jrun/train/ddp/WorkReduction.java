package io.jrun.train.ddp;

import io.jrun.comm.Work;

/** A reduction that is one operation of the group. Knows when the operation ended, also if nobody waited for the end. */
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

    /** When the operation ended, in {@link System#nanoTime}; 0 while the operation runs. */
    long endedNanos() {
        return endedNanos;
    }
}
