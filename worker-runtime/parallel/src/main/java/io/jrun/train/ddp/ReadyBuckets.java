package io.jrun.train.ddp;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Records the ready gradients and buckets of the current reduction. Confined as {@link GradientReducer}. */
final class ReadyBuckets {
    private final BitSet ready = new BitSet();
    private final List<Integer> order = new ArrayList<>();
    private final int[] bucketOf;
    private int[] missing = new int[0];
    private int launched;

    ReadyBuckets(int parameterCount) {
        bucketOf = new int[parameterCount];
    }

    /** Begins a reduction: no gradient is ready. */
    void reset(List<Bucket> buckets) {
        ready.clear();
        order.clear();
        launched = 0;
        missing = new int[buckets.size()];
        for (int b = 0; b < missing.length; b++) {
            missing[b] = buckets.get(b).parameters().size();
            for (int parameter : buckets.get(b).parameters()) {
                bucketOf[parameter] = b;
            }
        }
    }

    void add(int parameter) {
        ready.set(parameter);
        order.add(parameter);
        missing[bucketOf[parameter]]--;
    }

    /**
     * Returns whether the next bucket in order is complete. If the bucket is complete, the method marks the bucket as
     * launched.
     */
    boolean launchNext() {
        boolean isComplete = launched < missing.length && missing[launched] == 0;
        if (isComplete) {
            launched++;
        }
        return isComplete;
    }

    int launchedCount() {
        return launched;
    }

    boolean areAllLaunched() {
        return launched == missing.length;
    }

    boolean contains(int parameter) {
        return ready.get(parameter);
    }

    /** A copy of the set of ready parameters. */
    BitSet parameters() {
        return (BitSet) ready.clone();
    }

    /** A copy of the parameters in the order in which they became ready. */
    List<Integer> order() {
        return List.copyOf(order);
    }
}
