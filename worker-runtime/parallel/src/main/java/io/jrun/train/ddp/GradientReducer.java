package io.jrun.train.ddp;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Averages gradients over the ranks while the backward pass runs. A hook on each parameter marks the parameter ready.
 * When all parameters of a bucket are ready, the reducer launches the reduction of the bucket. Reductions are launched
 * in bucket order. The bucket order is the same on all ranks, although the order of gradients may differ between ranks.
 * The hook of the last gradient waits for all buckets, so that {@code backward()} returns with means in every
 * {@code .grad}.
 *
 * <p>After the first reduction the reducer makes new buckets by the order in which gradients became ready on rank 0.
 *
 * <p>One thread at a time: the rank's training thread, and during a backward pass the thread that runs the hooks. Hooks
 * of parameters on the CPU run on the training thread. Hooks of parameters on a device run on libtorch's thread for the
 * device, while the training thread waits in {@code backward()}. All state of the reducer, its buckets included, is
 * guarded by the lock of this object, which makes the changes of one thread visible to the other. On a device no method
 * waits for the device: the hook of the last gradient queues all that follows on the default stream. Source: c10d
 * reducer.cpp.
 */
class GradientReducer implements AutoCloseable {
    private final List<Parameter> parameters;
    private final ProcessGroup group;
    private final DdpOptions options;
    private final GradientMemory memory;
    private final LeafHooks watch;
    private final ParameterUses uses;
    private final BucketReductions reductions;
    private final PassFailure failure;
    private boolean isSyncing = true;
    private boolean isInPass;
    private long passes;
    private int root;

    GradientReducer(List<Parameter> parameters, ProcessGroup group, DdpOptions options) {
        this.parameters = List.copyOf(parameters);
        this.group = group;
        this.options = options;
        this.uses = new ParameterUses(parameters.size(), options, group);
        this.reductions = new BucketReductions(this.parameters, group, options.bucketBytes());
        this.memory = reductions.memory();
        this.failure = new PassFailure(this.parameters, group, options);
        this.watch = AutogradBridge.instance()
                .watch(this.parameters.stream().map(Parameter::tensor).toList(), this::accumulated);
    }

    /** Whether backward passes reduce. */
    synchronized boolean isSyncing() {
        return isSyncing;
    }

    synchronized void setSyncing(boolean syncing) {
        isSyncing = syncing;
    }

    /** Reductions of all gradients finished so far. */
    synchronized long passes() {
        return passes;
    }

    BucketReductions reductions() {
        return reductions;
    }

    ParameterUses uses() {
        return uses;
    }

    List<Parameter> parameters() {
        return parameters;
    }

    /** Sets the rank whose order of gradients counts in the next reductions, and the divisor of the sums. */
    synchronized void setMembers(int newRoot, int divisor) {
        root = newRoot;
        reductions.setDivisor(divisor);
    }

    /** The rank whose order of gradients and whose buffers count. */
    synchronized int root() {
        return root;
    }

    /** Runs a backward pass. Throws if the pass did not reduce every gradient. */
    void backward(Tensor loss) {
        requireIdle();
        long before = passes();
        try {
            beforeEngine(loss);
            AutogradBridge.instance().backward(List.of(loss), List.of()); // Without the lock: hooks take it.
            afterEngine(before);
        } catch (RuntimeException e) {
            throw failed(e);
        }
    }

    private synchronized void beforeEngine(Tensor loss) {
        if (isSyncing) {
            beginPass();
            if (options.searchesUnused()) {
                markUnused(watch.reachableFrom(loss));
            }
        }
    }

    private synchronized void afterEngine(long passesBefore) {
        if (isSyncing && passes == passesBefore) {
            endPass();
        }
    }

    private synchronized RuntimeException failed(RuntimeException e) {
        return failure.of(e);
    }

    private void beginPass() {
        if (!isInPass) {
            isInPass = true;
            reductions.clock().backwardBegins();
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
            throw failure.unfinished(reductions.ready());
        }
        if (isInPass) {
            // The graph reaches these parameters, but the engine had no gradient for them.
            markUnused(reductions.ready().parameters());
        }
    }

    synchronized boolean hasFailed() {
        return failure.isPresent();
    }

    /** Throws if a reduction has not ended: some gradients would be means and some this rank's own gradients. */
    synchronized void requireIdle() {
        failure.check();
        if (isInPass) {
            throw failure.unfinished(reductions.ready());
        }
    }

    /** Hook: the backward pass has added to this parameter's gradient. */
    private synchronized void accumulated(int parameter) {
        if (!isSyncing) {
            uses.add(parameter, false);
            return;
        }
        try {
            failure.check();
            beginPass();
            uses.add(parameter, true);
            if (uses.isRecording()) {
                return;
            }
            if (reductions.ready().contains(parameter)) {
                throw failure.unfinished(reductions.ready());
            }
            if (uses.isComplete(parameter)) {
                gradientIsReady(parameter);
            }
        } catch (RuntimeException e) {
            throw failure.of(e);
        }
    }

    private void gradientIsReady(int parameter) {
        moveIntoBucket(parameter);
        markReady(parameter);
    }

    void moveIntoBucket(int parameter) {
        memory.moveIntoBucket(parameter);
    }

    /** Marks all other parameters ready with their present gradients: an earlier sum, or zeros. */
    private void markUnused(BitSet others) {
        for (int i = others.nextClearBit(0); i < parameters.size(); i = others.nextClearBit(i + 1)) {
            if (uses.mayBeUnused() && !uses.isUsedHere(i)) {
                memory.keep(i);
            }
            gradientIsReady(i);
        }
    }

    private void markReady(int parameter) {
        reductions.markReady(parameter);
        if (reductions.areAllLaunched()) {
            finish();
        }
    }

    private void finish() {
        Work exchange = uses.needsExchange() ? uses.exchange(group) : null;
        reductions.await();
        if (exchange != null) {
            exchange.await();
            uses.exchanged();
        }
        reductions.clock().reductionEnds();
        if (uses.mayBeUnused()) {
            adoptMeansOfOthers();
            memory.restoreKept(uses::isUsedAnywhere);
        }
        uses.reductionEnds(passes == 0);
        if (!reductions.isRebuilt()
                && !options.searchesUnused()
                && !reductions.hook().keepsBuckets()) {
            reductions.rebuild(root);
        }
        passes++;
        isInPass = false;
        reductions.reset();
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

    /**
     * Takes part in a reduction of the other ranks without a pass of its own. Afterwards this rank has the gradients
     * that the other ranks have.
     */
    synchronized void shadow() {
        requireIdle();
        try {
            isInPass = true;
            reductions.clock().stepBegins();
            reductions.clock().backwardBegins();
            List<Integer> all = memory.buckets().stream()
                    .flatMap(b -> b.parameters().stream())
                    .toList();
            all.forEach(parameter -> {
                memory.clear(parameter);
                memory.install(parameter);
            });
            all.forEach(this::markReady);
            IntStream.range(0, parameters.size())
                    .filter(parameter -> !uses.isUsedAnywhere(parameter))
                    .forEach(memory::drop);
        } catch (RuntimeException e) {
            throw failure.of(e);
        }
    }

    /** Removes the hooks and copies the gradients out of the group's memory. */
    @Override
    public synchronized void close() {
        watch.close();
        memory.release();
    }
}
