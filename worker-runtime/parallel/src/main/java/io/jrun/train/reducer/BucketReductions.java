package io.jrun.train.reducer;

import io.jrun.comm.DataType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * The reductions of the buckets of one backward pass, by the communication hook. A bucket is launched when all its
 * parameters are ready and all earlier buckets of its sequence are launched. Confined as {@link GradientReducer}.
 */
final class BucketReductions {
    private final ReducedParameters parameters;
    private final ReductionGroups groups;
    private final ReducerOptions options;
    private final BucketMemory memory;
    private final ReadyBuckets ready;
    private final ReductionClock clock = new ReductionClock();
    private final ReductionQueue running = new ReductionQueue();
    private CommunicationHook hook;
    private int divisor;
    private boolean isRebuilt;

    BucketReductions(ReducedParameters parameters, ReductionGroups groups, ReducerOptions options) {
        this.parameters = parameters;
        this.groups = groups;
        this.options = options;
        List<Bucket> buckets = parameters.buckets(options.bucketBytes());
        this.memory = switch (options.placement()) {
            case REPLICATED -> new GradientMemory(parameters.all(), buckets);
            case SHARDED_STATES -> new StageOneMemory(parameters.all(), buckets);
            case SHARDED_GRADIENTS -> new ShardedGradientMemory(parameters.all(), buckets);
        };
        this.hook = options.placement() == GradientPlacement.REPLICATED ? new AllReduceHook() : new ReduceScatterHook();
        this.ready = new ReadyBuckets(parameters.all().size());
        this.divisor = groups.all().size();
        reset();
    }

    /** Begins a pass: no gradient is ready. */
    void reset() {
        ready.reset(memory.buckets());
    }

    BucketMemory memory() {
        return memory;
    }

    ReadyBuckets ready() {
        return ready;
    }

    ReductionClock clock() {
        return clock;
    }

    CommunicationHook hook() {
        return hook;
    }

    void setHook(CommunicationHook newHook) {
        hook = newHook;
    }

    /** Sets the number by which the sums of the next reductions are divided. */
    void setDivisor(int newDivisor) {
        divisor = newDivisor;
    }

    /** Marks a parameter ready, whose gradient is in its bucket, and launches the buckets that are complete. */
    void markReady(int parameter) {
        ready.add(parameter);
        for (int next = ready.launchNext(parameter); next >= 0; next = ready.launchNext(parameter)) {
            GradientBucket bucket = memory.take(next, ready.areAllLaunched(), divisor);
            clock.launched(bucket.buffer().memory().byteSize());
            BucketReduction reduction =
                    hook.reduce(bucket, memory.buckets().get(next).group());
            running.add(() -> finished(reduction, bucket));
            clock.waits(() -> running.finish(memory.mostTaken()));
        }
    }

    boolean areAllLaunched() {
        return ready.areAllLaunched();
    }

    /** Waits for all launched reductions. */
    void await() {
        running.finish(0);
    }

    private void finished(BucketReduction reduction, GradientBucket bucket) {
        reduction.finish();
        clock.finished(reduction);
        memory.give(bucket);
    }

    /** Makes new buckets by the order in which the gradients of this pass became ready on rank {@code root}. */
    void rebuild(int root, GradientMemory lasting) {
        int[] order = ready.order().stream().mapToInt(Integer::intValue).toArray();
        groups.all().broadcast(MemorySegment.ofArray(order), DataType.I32, order.length, root);
        lasting.recut(parameters.buckets(
                options.bucketBytes(), Arrays.stream(order).boxed().toList()));
        isRebuilt = true;
    }

    boolean isRebuilt() {
        return isRebuilt;
    }
}
