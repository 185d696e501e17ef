package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Averages gradients over the ranks while the backward pass runs. A hook per parameter marks it ready; when all of a
 * bucket are ready its all-reduce is launched, strictly in bucket order, which is the same on all ranks although
 * gradients may appear in another order on each. The hook of the last gradient waits for all buckets, so that
 * {@code backward()} returns with means in every {@code .grad}.
 *
 * <p>After the first reduction the buckets are cut anew in the order in which gradients really became ready on rank 0.
 *
 * <p>Confined to the rank's training thread (hooks run on it). Source: c10d reducer.cpp.
 */
class GradientReducer implements AutoCloseable {
    private static final int NAMES_SHOWN = 8;

    private final List<Parameter> parameters;
    private final ProcessGroup group;
    private final DdpOptions options;
    private final GradientMemory memory;
    private final LeafHooks watch;
    /** One I32 per parameter: whether a rank used it. Only where unused parameters are allowed. */
    private final MemorySegment usedCounts;

    private final BitSet ready = new BitSet();
    /** Parameters that got a gradient since the last reduction, passes under noSync included. */
    private final BitSet used = new BitSet();

    private final List<Work> works = new ArrayList<>();
    private final List<Long> launched = new ArrayList<>();
    private final List<Integer> readyOrder = new ArrayList<>();
    private int[] bucketOf = new int[0];
    private int[] missing = new int[0];
    private boolean isSyncing = true;
    private boolean isRebuilt;
    private long reductions;
    private long exposedNanos;
    private ReductionTimeline timeline = ReductionTimeline.NONE;
    private @Nullable RuntimeException failure;

    GradientReducer(List<Parameter> parameters, ProcessGroup group, DdpOptions options) {
        this.parameters = List.copyOf(parameters);
        this.group = group;
        this.options = options;
        this.memory =
                new GradientMemory(this.parameters, group, plan(BucketPlan.reverseRegistration(parameters.size())));
        this.usedCounts = options.findUnusedParameters()
                ? group.allocate((long) parameters.size() * Integer.BYTES)
                : MemorySegment.NULL;
        indexBuckets();
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

    ReductionTimeline timeline() {
        return timeline;
    }

    /** Sum over all reductions. */
    long exposedNanos() {
        return exposedNanos;
    }

    List<List<String>> bucketNames() {
        return memory.buckets().stream()
                .map(bucket -> bucket.parameters().stream()
                        .map(parameter -> parameters.get(parameter).name())
                        .toList())
                .toList();
    }

    /** Runs a backward pass and makes sure that it has reduced every gradient. */
    void backward(Tensor loss) {
        requireIdle();
        long before = reductions;
        try {
            if (isSyncing && options.findUnusedParameters()) {
                markUnused(watch.reachableFrom(loss));
            }
            AutogradBridge.instance().backward(List.of(loss), List.of());
            if (isSyncing && reductions == before) {
                if (!options.findUnusedParameters()) {
                    throw unused();
                }
                // Reachable, but the engine had no gradient to give them.
                markUnused((BitSet) ready.clone());
            }
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    /** The first failure, which the other ranks hear of too: they would wait for this rank's buckets. */
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

    /** A reduction that has begun must have ended: otherwise gradients are partly means and partly this rank's own. */
    void requireIdle() {
        if (failure != null) {
            throw failure;
        }
        if (!ready.isEmpty()) {
            throw unused();
        }
    }

    /** Hook: the backward pass has added to this parameter's gradient. */
    private void accumulated(int parameter) {
        used.set(parameter);
        if (!isSyncing) {
            return;
        }
        try {
            if (failure != null) {
                throw failure;
            }
            if (ready.get(parameter)) {
                throw unused();
            }
            bringHome(parameter);
            markReady(parameter);
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    /** Makes the gradient live in the bucket. */
    void bringHome(int parameter) {
        memory.bringHome(parameter);
    }

    /**
     * Reduces one bucket to the mean over ranks: behind the backward pass, but the last one on this thread, which has
     * nothing left to do and the gradients in its core's cache.
     */
    void reduce(Bucket bucket, boolean isLast) {
        if (isLast) {
            group.allReduce(bucket.buffer(), ReduceOp.AVG);
        } else {
            works.add(group.allReduceAsync(bucket.buffer(), ReduceOp.AVG));
        }
    }

    /** Marks all parameters but these ready, with what they have: an earlier sum, or zeros. */
    private void markUnused(BitSet others) {
        for (int i = others.nextClearBit(0); i < parameters.size(); i = others.nextClearBit(i + 1)) {
            bringHome(i);
            markReady(i);
        }
    }

    private void markReady(int parameter) {
        ready.set(parameter);
        readyOrder.add(parameter);
        missing[bucketOf[parameter]]--;
        while (launched.size() < missing.length && missing[launched.size()] == 0) {
            Bucket bucket = memory.buckets().get(launched.size());
            launched.add(System.nanoTime());
            reduce(bucket, launched.size() == missing.length);
        }
        if (readyOrder.size() == parameters.size()) {
            finish();
        }
    }

    private void finish() {
        if (options.findUnusedParameters()) {
            works.add(launchUsedCounts());
        }
        works.forEach(Work::await);
        // The last gradient completed the last bucket.
        timeline = new ReductionTimeline(launched, launched.getLast(), System.nanoTime());
        exposedNanos += timeline.exposedNanos();
        if (options.findUnusedParameters()) {
            adoptMeansOfOthers();
        } else if (!isRebuilt) {
            rebuild();
        }
        reductions++;
        clearProgress();
    }

    private Work launchUsedCounts() {
        for (int i = 0; i < parameters.size(); i++) {
            usedCounts.setAtIndex(ValueLayout.JAVA_INT, i, used.get(i) ? 1 : 0);
        }
        return group.allReduceAsync(usedCounts, DataType.I32, parameters.size(), ReduceOp.SUM);
    }

    /** A parameter unused here but used elsewhere has a mean; one that nobody used keeps what it had, also nothing. */
    private void adoptMeansOfOthers() {
        for (int i = 0; i < parameters.size(); i++) {
            if (usedCounts.getAtIndex(ValueLayout.JAVA_INT, i) > 0 && !memory.hasGradient(i)) {
                memory.install(i);
            }
        }
    }

    private void rebuild() {
        int[] order = readyOrder.stream().mapToInt(Integer::intValue).toArray();
        group.broadcast(MemorySegment.ofArray(order), DataType.I32, order.length, 0);
        memory.recut(plan(Arrays.stream(order).boxed().toList()));
        isRebuilt = true;
    }

    private void clearProgress() {
        ready.clear();
        used.clear();
        works.clear();
        launched.clear();
        readyOrder.clear();
        indexBuckets();
    }

    private void indexBuckets() {
        List<Bucket> buckets = memory.buckets();
        bucketOf = new int[parameters.size()];
        missing = new int[buckets.size()];
        for (int b = 0; b < buckets.size(); b++) {
            missing[b] = buckets.get(b).parameters().size();
            for (int parameter : buckets.get(b).parameters()) {
                bucketOf[parameter] = b;
            }
        }
    }

    private BucketPlan plan(List<Integer> order) {
        List<BucketPlan.Item> items = parameters.stream()
                .map(p -> new BucketPlan.Item(p.type(), p.bytes()))
                .toList();
        return BucketPlan.of(items, order, options.firstBucketBytes(), options.bucketBytes());
    }

    /** Tells this rank by the exception and the others through the group, which would wait for the rest for ever. */
    private RuntimeException unused() {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < parameters.size(); i++) {
            if (!ready.get(i)) {
                names.add(parameters.get(i).name());
            }
        }
        String shown = names.stream().limit(NAMES_SHOWN).collect(Collectors.joining(", "));
        String more = names.size() > NAMES_SHOWN ? " and " + (names.size() - NAMES_SHOWN) + " more" : "";
        String advice = options.findUnusedParameters()
                ? "Run step.backward(loss) instead of loss.backward(): findUnusedParameters has to see the graph."
                : "Leave no parameter out of the loss, freeze those (requires_grad false), or build"
                        + " DistributedDataParallel with findUnusedParameters and run step.backward(loss). Two backward"
                        + " passes over one parameter in one reduction need noSync() around all but the last.";
        String what = who() + ": " + names.size() + " of " + parameters.size()
                + " parameters got no gradient in a synchronised backward pass: " + shown + more + ". " + advice;
        DdpException error = new DdpException(what);
        failure = error;
        group.abort(what);
        return error;
    }

    private String who() {
        return "rank " + group.worldRank(group.groupRank());
    }

    /** Removes the hooks and moves gradients out of the group's memory. */
    @Override
    public void close() {
        watch.close();
        memory.release();
    }
}
