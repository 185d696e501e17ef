package io.jrun.train.reducer;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Records the ready gradients and buckets of the current reduction. Confined as {@link GradientReducer}. */
final class ReadyBuckets {
    private final BitSet ready = new BitSet();
    private final List<Integer> order = new ArrayList<>();
    private final BitSet launched = new BitSet();
    private final int[] bucketOf;
    private List<Bucket> buckets = List.of();
    private int[] missing = new int[0];

    ReadyBuckets(int parameterCount) {
        bucketOf = new int[parameterCount];
    }

    /** Begins a reduction: no gradient is ready. */
    void reset(List<Bucket> newBuckets) {
        buckets = newBuckets;
        ready.clear();
        order.clear();
        launched.clear();
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
     * The number of the next bucket in the sequence of a parameter, if the bucket is complete. The method marks the
     * bucket as launched. Negative if the next bucket is not complete, or if the sequence has ended.
     */
    int launchNext(int parameter) {
        int bucket = bucketOf[parameter];
        int sequence = buckets.get(bucket).sequence();
        while (bucket > 0 && buckets.get(bucket - 1).sequence() == sequence) {
            bucket--;
        }
        bucket = launched.nextClearBit(bucket);
        boolean isComplete =
                bucket < missing.length && buckets.get(bucket).sequence() == sequence && missing[bucket] == 0;
        if (!isComplete) {
            return -1;
        }
        launched.set(bucket);
        return bucket;
    }

    boolean areAllLaunched() {
        return launched.cardinality() == missing.length;
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
