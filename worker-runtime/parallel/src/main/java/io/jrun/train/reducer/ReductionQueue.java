package io.jrun.train.reducer;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Reductions under way, in the order of their launches, which is the same on all ranks. One place launches them, and one
 * place waits for them. Confined as the object that launches.
 */
public final class ReductionQueue {
    private final Deque<BucketReduction> running = new ArrayDeque<>();

    /** Adds a reduction that has begun. */
    public void add(BucketReduction reduction) {
        running.add(reduction);
    }

    /** Begins the next part of each reduction that has several parts. */
    public void proceed() {
        running.forEach(BucketReduction::proceed);
    }

    /** Waits for the oldest reductions, until no more than {@code left} are under way. */
    public void finish(int left) {
        while (running.size() > left) {
            running.remove().finish();
        }
    }
}
