package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Averages gradients over the ranks while the backward pass runs. A hook on each parameter marks the parameter ready.
 * When all parameters of a bucket are ready, the reducer launches the reduction of the bucket. Reductions are launched
 * in bucket order. The bucket order is the same on all ranks, although the order of gradients may differ between ranks.
 * The hook of the last gradient waits for all buckets, so that {@code backward()} returns with means in every
 * {@code .grad}.
 *
 * <p>After the first reduction the reducer makes new buckets by the order in which gradients became ready on rank 0.
 *
 * <p>Confined to the rank's training thread. Hooks run on this thread. Source: c10d reducer.cpp.
 */
class GradientReducer implements AutoCloseable {
    private final List<Parameter> parameters;
    private final ProcessGroup group;
    private final DdpOptions options;
    private final GradientMemory memory;
    private final LeafHooks watch;
    private final ParameterUses uses;
    private final ReadyBuckets ready;
    private final ReductionClock clock = new ReductionClock();
    private final List<BucketReduction> running = new ArrayList<>();
    private CommunicationHook hook = new AllReduceHook();
    private boolean isSyncing = true;
    private boolean isInPass;
    private boolean isRebuilt;
    private long reductions;
    private int root;
    private int divisor;
    private @Nullable RuntimeException failure;

    GradientReducer(List<Parameter> parameters, ProcessGroup group, DdpOptions options) {
        this.parameters = List.copyOf(parameters);
        this.group = group;
        this.options = options;
        this.divisor = group.size();
        this.memory =
                new GradientMemory(this.parameters, group, plan(BucketPlan.reverseRegistration(parameters.size())));
        this.uses = new ParameterUses(parameters.size(), options, group);
        this.ready = new ReadyBuckets(parameters.size());
        ready.reset(memory.buckets());
        this.watch = AutogradBridge.instance()
                .watch(this.parameters.stream().map(Parameter::tensor).toList(), this::accumulated);
    }

    /** Whether backward passes reduce. */
    boolean isSyncing() {
        return isSyncing;
    }

    void setSyncing(boolean syncing) {
        isSyncing = syncing;
    }

    /** Reductions finished so far. */
    long reductions() {
        return reductions;
    }

    ReductionClock clock() {
        return clock;
    }

    ParameterUses uses() {
        return uses;
    }

    List<Parameter> parameters() {
        return parameters;
    }

    CommunicationHook hook() {
        return hook;
    }

    void setHook(CommunicationHook newHook) {
        hook = newHook;
    }

    boolean isRebuilt() {
        return isRebuilt;
    }

    /** All gradients, padding included. */
    MemorySegment memory() {
        return memory.all();
    }

    List<Bucket> buckets() {
        return memory.buckets();
    }

    /**
     * Sets the members of the next reductions.
     *
     * @param newRoot the rank whose order of gradients counts
     * @param newDivisor the number by which sums are divided
     */
    void setMembers(int newRoot, int newDivisor) {
        root = newRoot;
        divisor = newDivisor;
    }

    /** The rank whose order of gradients and whose buffers count. */
    int root() {
        return root;
    }

    /** Runs a backward pass. Throws if the pass did not reduce every gradient. */
    void backward(Tensor loss) {
        requireIdle();
        long before = reductions;
        try {
            if (isSyncing) {
                beginPass();
                if (options.searchesUnused()) {
                    markUnused(watch.reachableFrom(loss));
                }
            }
            AutogradBridge.instance().backward(List.of(loss), List.of());
            if (isSyncing && reductions == before) {
                endPass();
            }
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    private void beginPass() {
        if (!isInPass) {
            isInPass = true;
            clock.backwardBegins();
            if (!uses.isRecording()) {
                markUnused(uses.expectedSet());
            }
        }
    }

    /** Runs when the engine has finished and some gradients are missing. */
    private void endPass() {
        if (uses.isRecording()) {
            uses.endRecording().forEach(this::gradientIsReady);
        } else if (!options.searchesUnused()) {
            throw unfinished();
        }
        if (isInPass) {
            // The graph reaches these parameters, but the engine had no gradient for them.
            markUnused(ready.parameters());
        }
    }

    /** Keeps the first failure and aborts the group: the other ranks would wait for this rank's buckets. */
    private RuntimeException failed(RuntimeException e) {
        if (failure == null) {
            failure = e;
            group.abort(who() + ": the backward pass failed: " + e);
        }
        return failure;
    }

    boolean hasFailed() {
        return failure != null;
    }

    /** Throws if a reduction has not ended: some gradients would be means and some this rank's own gradients. */
    void requireIdle() {
        if (failure != null) {
            throw failure;
        }
        if (isInPass) {
            throw unfinished();
        }
    }

    /** Hook: the backward pass has added to this parameter's gradient. */
    private void accumulated(int parameter) {
        if (!isSyncing) {
            uses.add(parameter, false);
            return;
        }
        try {
            if (failure != null) {
                throw failure;
            }
            beginPass();
            uses.add(parameter, true);
            if (uses.isRecording()) {
                return;
            }
            if (ready.contains(parameter)) {
                throw unfinished();
            }
            if (uses.isComplete(parameter)) {
                gradientIsReady(parameter);
            }
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    private void gradientIsReady(int parameter) {
        moveIntoBucket(parameter);
        markReady(parameter);
    }

    /** Moves the gradient into its bucket. */
    void moveIntoBucket(int parameter) {
        memory.moveIntoBucket(parameter);
    }

    /** Marks all other parameters ready with their present gradients: an earlier sum, or zeros. */
    private void markUnused(BitSet others) {
        for (int i = others.nextClearBit(0); i < parameters.size(); i = others.nextClearBit(i + 1)) {
            gradientIsReady(i);
        }
    }

    private void markReady(int parameter) {
        ready.add(parameter);
        while (ready.launchNext()) {
            launch(ready.launchedCount() - 1);
        }
        if (ready.areAllLaunched()) {
            finish();
        }
    }

    private void launch(int index) {
        GradientBucket bucket = memory.view(index, divisor);
        clock.launched(bucket.buffer().memory().byteSize());
        running.add(hook.reduce(bucket, group));
    }

    private void finish() {
        Work exchange = uses.needsExchange() ? uses.exchange(group) : null;
        for (BucketReduction reduction : running) {
            reduction.finish();
            clock.finished(reduction);
        }
        if (exchange != null) {
            exchange.await();
            uses.exchanged();
        }
        clock.reductionEnds();
        if (uses.mayBeUnused()) {
            adoptMeansOfOthers();
        }
        uses.reductionEnds(reductions == 0);
        if (!isRebuilt && !options.searchesUnused()) {
            rebuild();
        }
        reductions++;
        isInPass = false;
        running.clear();
        ready.reset(memory.buckets());
    }

    /**
     * A parameter that another rank has used gets the mean. A parameter that no rank has used keeps its gradient, or
     * has no gradient.
     */
    private void adoptMeansOfOthers() {
        for (int i = 0; i < parameters.size(); i++) {
            if (uses.isUsedAnywhere(i) && !memory.hasGradient(i)) {
                memory.install(i);
            }
        }
    }

    private void rebuild() {
        int[] order = ready.order().stream().mapToInt(Integer::intValue).toArray();
        group.broadcast(MemorySegment.ofArray(order), DataType.I32, order.length, root);
        memory.recut(plan(Arrays.stream(order).boxed().toList()));
        isRebuilt = true;
    }

    /**
     * Takes part in a reduction of the other ranks without a pass of its own. Afterwards this rank has the gradients
     * that the other ranks have.
     */
    void shadow() {
        requireIdle();
        try {
            isInPass = true;
            clock.stepBegins();
            clock.backwardBegins();
            List<Integer> all =
                    buckets().stream().flatMap(b -> b.parameters().stream()).toList();
            all.forEach(parameter -> {
                memory.clear(parameter);
                memory.install(parameter);
            });
            all.forEach(this::markReady);
            IntStream.range(0, parameters.size())
                    .filter(parameter -> !uses.isUsedAnywhere(parameter))
                    .forEach(memory::drop);
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    private BucketPlan plan(List<Integer> order) {
        List<BucketPlan.Item> items = parameters.stream()
                .map(p -> new BucketPlan.Item(p.type(), p.bytes()))
                .toList();
        return BucketPlan.of(items, order, options.bucketBytes());
    }

    /**
     * Returns the exception for this rank, and aborts the group: the other ranks would wait for the missing buckets for
     * ever.
     */
    private RuntimeException unfinished() {
        List<String> missing = IntStream.range(0, parameters.size())
                .filter(parameter -> !ready.contains(parameter))
                .mapToObj(parameter -> parameters.get(parameter).name())
                .toList();
        DdpException error = UnfinishedReduction.error(who(), missing, parameters.size(), options);
        failure = error;
        group.abort(String.valueOf(error.getMessage()));
        return error;
    }

    private String who() {
        return "rank " + group.worldRank(group.groupRank());
    }

    /** Removes the hooks and copies the gradients out of the group's memory. */
    @Override
    public void close() {
        watch.close();
        memory.release();
    }
}
