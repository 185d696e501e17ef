package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The reductions of the buckets of one backward pass, by the communication hook. A bucket is launched when all its
 * parameters are ready and all earlier buckets are launched. Confined as {@link GradientReducer}.
 */
final class BucketReductions {
    private final List<Parameter> parameters;
    private final ProcessGroup group;
    private final List<Long> limits;
    private final GradientMemory memory;
    private final ReadyBuckets ready;
    private final ReductionClock clock = new ReductionClock();
    private final List<BucketReduction> running = new ArrayList<>();
    private CommunicationHook hook = new AllReduceHook();
    private int divisor;
    private boolean isRebuilt;

    /** @param limits the bytes of the buckets, see {@link DdpOptions#bucketBytes} */
    BucketReductions(List<Parameter> parameters, ProcessGroup group, List<Long> limits) {
        this.parameters = parameters;
        this.group = group;
        this.limits = limits;
        this.memory = new GradientMemory(parameters, group, plan(BucketPlan.reverseRegistration(parameters.size())));
        this.ready = new ReadyBuckets(parameters.size());
        this.divisor = group.size();
        reset();
    }

    private BucketPlan plan(List<Integer> order) {
        List<BucketPlan.Item> items = parameters.stream()
                .map(p -> new BucketPlan.Item(p.type(), p.bytes()))
                .toList();
        return BucketPlan.of(items, order, limits);
    }

    /** Begins a pass: no gradient is ready. */
    void reset() {
        running.clear();
        ready.reset(memory.buckets());
    }

    GradientMemory memory() {
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
        while (ready.launchNext()) {
            GradientBucket bucket = memory.view(ready.launchedCount() - 1, divisor);
            clock.launched(bucket.buffer().memory().byteSize());
            running.add(hook.reduce(bucket, group));
        }
    }

    boolean areAllLaunched() {
        return ready.areAllLaunched();
    }

    /** Waits for all launched reductions. */
    void await() {
        for (BucketReduction reduction : running) {
            reduction.finish();
            clock.finished(reduction);
        }
    }

    /** Makes new buckets by the order in which the gradients of this pass became ready on rank {@code root}. */
    void rebuild(int root) {
        int[] order = ready.order().stream().mapToInt(Integer::intValue).toArray();
        group.broadcast(MemorySegment.ofArray(order), DataType.I32, order.length, root);
        memory.recut(plan(Arrays.stream(order).boxed().toList()));
        isRebuilt = true;
    }

    boolean isRebuilt() {
        return isRebuilt;
    }
}
