package io.jrun.train.reducer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.tensor.LibtorchScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Averages gradients over the ranks while the backward pass runs. A hook on each parameter marks the parameter ready.
 * When all parameters of a bucket are ready, the reducer launches the reduction of the bucket. Reductions are launched
 * in bucket order. The bucket order is the same on all ranks, although the order of gradients may differ between ranks.
 * The hook of the last gradient waits for all buckets, so that {@code backward()} returns with means in every
 * {@code .grad}.
 *
 * <p>{@link GradientPlacement} says which means a rank keeps. The exchange of a bucket is at one place, the
 * {@link CommunicationHook}. A reducer of the stages of a pipeline, see {@link StageReducer}, reduces a stage in its last
 * backward pass, and waits for all buckets at the end of the step.
 *
 * <p>After the first reduction of whole gradients of a module the reducer makes new buckets by the order in which
 * gradients became ready on rank 0.
 *
 * <p>One thread at a time: the rank's training thread, and during a backward pass the thread that runs the hooks. Hooks
 * of parameters on the CPU run on the training thread. Hooks of parameters on a device run on libtorch's thread for the
 * device, while the training thread waits in {@code backward()}. All state of the reducer, its buckets included, is
 * guarded by the lock of this object, which makes the changes of one thread visible to the other. On a device no method
 * waits for the device: the hook of the last gradient queues all that follows on the default stream. Source: c10d
 * reducer.cpp.
 */
public class GradientReducer implements AutoCloseable {
    private final ReducedParameters parameters;
    private final ReductionGroups groups;
    private final ReducerOptions options;
    private final boolean isOfStages;
    private final BucketMemory memory;
    private final LeafHooks watch;
    private final ParameterUses uses;
    private final BucketReductions reductions;
    private final PassFailure failure;
    /** Empty if the gradients are in {@code .grad}. */
    private final List<PartGradients> parts;

    private boolean isSyncing = true;
    private boolean isInPass;
    private boolean hasOptimizer;
    private long passes;
    private int root;
    /** Some ranks have no inputs left, see {@link #shadow}. */
    private boolean haveJoined;
    /** Turns a sum that was divided by the divisor into the mean over the ranks with inputs. */
    private double toMeanOfActive = 1;

    private boolean isShadow;

    /**
     * A reducer of the gradients of a module. Collective.
     *
     * @param parameters by name; those that require no gradient are left out
     * @throws ReductionException if there is no gradient to reduce, or if ranks cannot reduce a gradient
     */
    public GradientReducer(Map<String, Tensor> parameters, ReductionGroups groups, ReducerOptions options) {
        this(List.of(new ReductionSequence(List.of(parameters), false)), groups, options, false);
        if (this.parameters.all().isEmpty()) {
            throw new ReductionException("the model has no parameter that requires a gradient; DDP has no gradient to"
                    + " reduce. Register parameters with register_parameter or register_module.");
        }
    }

    /** A reducer of the stages of a pipeline. The passes complete the gradients of a stage, the caller the late ones. */
    GradientReducer(List<ReductionSequence> sequences, ReductionGroups groups, ReducerOptions options) {
        this(sequences, groups, options, true);
    }

    private GradientReducer(
            List<ReductionSequence> sequences, ReductionGroups groups, ReducerOptions options, boolean isOfStages) {
        this.parameters = new ReducedParameters(sequences, groups);
        this.groups = groups;
        this.options = options;
        this.isOfStages = isOfStages;
        List<Parameter> all = parameters.all();
        this.uses = new ParameterUses(all.size(), options, groups.all());
        this.reductions = new BucketReductions(parameters, groups, options);
        this.memory = reductions.memory();
        this.failure = new PassFailure(all, groups, options);
        this.parts = options.placement() == GradientPlacement.REPLICATED ? List.of() : PartGradients.of(all, memory);
        this.watch = AutogradBridge.instance()
                .watch(all.stream().map(Parameter::tensor).toList(), this::accumulated);
    }

    /** Whether backward passes reduce. */
    public synchronized boolean isSyncing() {
        return isSyncing;
    }

    /** Sets whether backward passes reduce. */
    public synchronized void setSyncing(boolean syncing) {
        isSyncing = syncing;
    }

    /** Reductions of all gradients finished so far. */
    public synchronized long passes() {
        return passes;
    }

    /** The ranks that train on different samples. */
    public ProcessGroup group() {
        return groups.all();
    }

    /** The ranks that add the gradients of a bucket, see {@link ReductionGroups}. */
    public ProcessGroup group(int bucket) {
        return memory.buckets().get(bucket).group();
    }

    /** The gradients that a rank has after a reduction. */
    public GradientPlacement placement() {
        return options.placement();
    }

    /** The parameters of each bucket by name, in the order in which the buckets are reduced. */
    public List<Map<String, Tensor>> buckets() {
        List<Map<String, Tensor>> buckets = new ArrayList<>();
        for (Bucket bucket : memory.buckets()) {
            Map<String, Tensor> members = new LinkedHashMap<>();
            bucket.parameters().forEach(i -> members.put(parameters.all().get(i).name(), tensor(i)));
            buckets.add(Collections.unmodifiableMap(members));
        }
        return buckets;
    }

    private Tensor tensor(int parameter) {
        return parameters.all().get(parameter).tensor();
    }

    /** The means of this rank's part of a bucket, of one dimension, see {@link BucketDivision}. */
    public Tensor part(int bucket) {
        return memory.part(bucket);
    }

    /** The memory of whole gradients, for each group; empty if a rank keeps none. */
    public PaddedGradients gradientMemory() {
        return PaddedGradients.of(memory instanceof GradientMemory whole ? whole.all() : List.of());
    }

    /** The exchange of a bucket. */
    public CommunicationHook hook() {
        return reductions.hook();
    }

    /** Replaces the exchange of the buckets, before the first reduction. */
    public void setHook(CommunicationHook hook) {
        reductions.setHook(hook);
    }

    /** The times of the reductions. */
    public ReductionClock clock() {
        return reductions.clock();
    }

    /** Whether the buckets follow the order in which gradients became ready. */
    public boolean isRebuilt() {
        return reductions.isRebuilt();
    }

    /** The bytes of the trained parameters for each element type. */
    public Map<DataType, Long> parameterBytes() {
        Map<DataType, Long> bytes = new EnumMap<>(DataType.class);
        parameters.all().forEach(parameter -> bytes.merge(parameter.type(), parameter.bytes(), Long::sum));
        return bytes;
    }

    /** The number of trained parameters. */
    public int parameterCount() {
        return parameters.all().size();
    }

    /** Whether all reductions so far used the same parameters on this rank. */
    public boolean usesAreConstant() {
        return uses.isConstant();
    }

    /** The names of the parameters that this rank left out of its last reduction. */
    public synchronized List<String> unusedNames() {
        return passes == 0
                ? List.of()
                : uses.unused().stream()
                        .mapToObj(parameter -> parameters.all().get(parameter).name())
                        .toList();
    }

    /**
     * Sets the ranks with inputs of the next reductions, and the divisor of the sums. The order of gradients of the first
     * of these ranks counts.
     */
    public synchronized void setMembers(BitSet active, int divisor) {
        if (options.placement() != GradientPlacement.REPLICATED
                && divisor != groups.all().size()) {
            throw new IllegalStateException(
                    "ranks that share the states divide the sums of the gradients by the number of all ranks, also inside"
                            + " join(): use JoinOptions.withDivideByInitialSize(true)");
        }
        root = active.nextSetBit(0);
        haveJoined = active.cardinality() < groups.all().size();
        toMeanOfActive = (double) divisor / active.cardinality();
        reductions.setDivisor(divisor);
    }

    /** The rank whose order of gradients and whose buffers count. */
    public synchronized int root() {
        return root;
    }

    /** Runs a backward pass. Throws if the pass did not reduce every gradient. */
    public void backward(Tensor loss) {
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

    /** A backward pass begins, which adds to the gradients of this rank. */
    synchronized void passBegins() {
        memory.passBegins();
    }

    private synchronized void beforeEngine(Tensor loss) {
        passBegins();
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

    /** Keeps the failure of a pass, and stops the other ranks. */
    synchronized RuntimeException failed(RuntimeException e) {
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
        } else if (!options.searchesUnused() && !countsMissingAsZero()) {
            throw failure.unfinished(reductions.ready());
        }
        if (isInPass) {
            // The graph reaches these parameters, but the engine had no gradient for them.
            markUnused(reductions.ready().parameters());
        }
    }

    private boolean countsMissingAsZero() {
        return isOfStages || options.placement() == GradientPlacement.SHARDED_GRADIENTS;
    }

    /** Whether a pass has failed. */
    public synchronized boolean hasFailed() {
        return failure.isPresent();
    }

    /** Throws the failure of an earlier pass. */
    synchronized void requireSound() {
        failure.check();
    }

    /** Throws if a reduction has not ended: some gradients would be means and some this rank's own gradients. */
    public synchronized void requireIdle() {
        failure.check();
        if (isInPass) {
            throw failure.unfinished(reductions.ready());
        }
    }

    /** An optimizer updates the parameters by the parts of the gradients: for {@code ZeroOptimizer}. */
    public synchronized void optimizerIsMade() {
        hasOptimizer = true;
    }

    /**
     * Throws if gradients were reduced and no optimizer updates the parameters by the parts of the gradients. An
     * optimizer over {@code .grad} updates nothing, or makes the parameters of the ranks differ.
     */
    public synchronized void requireOptimizer() {
        if (options.placement() != GradientPlacement.REPLICATED && passes > 0 && !hasOptimizer) {
            throw new IllegalStateException("a step begins after gradients were reduced, but"
                    + " ZeroOptimizer.of(reducer, ...) was not called: with " + options.placement()
                    + " each rank has the mean gradients of its parts only, and any optimizer other than ZeroOptimizer"
                    + " gives wrong parameters.");
        }
    }

    /** Hook: the backward pass has added to this parameter's gradient. */
    private synchronized void accumulated(int parameter) {
        try {
            memory.requireBegun();
            if (!isSyncing || parameters.isLate(parameter)) {
                uses.add(parameter, false);
                return;
            }
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

    /** Moves a complete gradient into its bucket. Tests have reducers that do not. */
    protected void moveIntoBucket(int parameter) {
        memory.moveIntoBucket(parameter);
    }

    /** Marks all other parameters ready with their present gradients: an earlier sum, or zeros. */
    private void markUnused(BitSet others) {
        for (int i = others.nextClearBit(0); i < parameters.all().size(); i = others.nextClearBit(i + 1)) {
            if (uses.mayBeUnused() && !uses.isUsedHere(i)) {
                lasting().keep(i);
            }
            gradientIsReady(i);
        }
    }

    private void markReady(int parameter) {
        reductions.markReady(parameter);
        if (reductions.areAllLaunched() && !isOfStages) {
            finish();
        }
    }

    /** Unused parameters and new buckets need whole gradients. */
    private GradientMemory lasting() {
        return (GradientMemory) memory;
    }

    /** The gradients of some parameters are complete: those of a stage, or late ones. */
    synchronized void complete(Collection<Tensor> tensors) {
        failure.check();
        Set<Long> identities = tensors.stream().map(TensorMemory::identity).collect(Collectors.toSet());
        ready(parameter -> identities.contains(TensorMemory.identity(tensor(parameter))));
    }

    /** All gradients are complete. Waits for all buckets. */
    synchronized void completeAll() {
        failure.check();
        ready(_ -> true);
        finish();
    }

    private void ready(IntPredicate isComplete) {
        try (LibtorchScope _ = new LibtorchScope()) {
            beginPass();
            BitSet present = reductions.ready().parameters();
            for (int i = present.nextClearBit(0); i < parameters.all().size(); i = present.nextClearBit(i + 1)) {
                if (isComplete.test(i)) {
                    gradientIsReady(i);
                }
            }
        }
    }

    private void finish() {
        Work exchange = uses.needsExchange(haveJoined) ? uses.exchange(groups.all(), lastingHere()) : null;
        reductions.await();
        if (exchange != null) {
            exchange.await();
            uses.exchanged();
        }
        reductions.clock().reductionEnds();
        if (uses.mayBeUnused()) {
            adoptMeansOfOthers();
            lasting().restoreKept(parameter -> haveJoined || uses.isUsedAnywhere(parameter));
            if (haveJoined) {
                adoptKeptByOthers();
            }
        }
        memory.reductionEnds();
        uses.reductionEnds(passes == 0);
        if (!isOfStages
                && !reductions.isRebuilt()
                && !options.searchesUnused()
                && !reductions.hook().keepsBuckets()) {
            reductions.rebuild(root, lasting());
        }
        passes++;
        isInPass = false;
        reductions.reset();
    }

    private BitSet lastingHere() {
        BitSet here = new BitSet();
        IntStream.range(0, isShadow ? 0 : parameters.all().size())
                .filter(parameter -> lasting().hasGradient(parameter))
                .forEach(here::set);
        return here;
    }

    /**
     * A parameter that another rank has used gets the mean. A parameter that no rank has used keeps its gradient, or
     * has no gradient.
     */
    private void adoptMeansOfOthers() {
        for (int i = 0; i < parameters.all().size(); i++) {
            if (uses.isUsedAnywhere(i) && !lasting().hasGradient(i)) {
                memory.install(i);
            }
        }
    }

    /** A rank that has joined lacks the copies. All ranks take the means of the unused gradients over the others. */
    private void adoptKeptByOthers() {
        IntStream.range(0, parameters.all().size())
                .filter(parameter -> !uses.isUsedAnywhere(parameter) && uses.lastsAnywhere(parameter))
                .forEach(parameter -> lasting().scale(parameter, toMeanOfActive));
    }

    /**
     * Takes part in a reduction of the other ranks without a pass of its own. Afterwards this rank has the gradients
     * that the other ranks have.
     */
    public synchronized void shadow() {
        requireIdle();
        try {
            isInPass = true;
            isShadow = true;
            reductions.clock().stepBegins();
            reductions.clock().backwardBegins();
            List<Integer> all = memory.buckets().stream()
                    .flatMap(b -> b.parameters().stream())
                    .toList();
            memory.clearAll();
            all.forEach(this::markReady);
            IntStream.range(0, parameters.all().size())
                    .filter(parameter -> !uses.lastsAnywhere(parameter))
                    .forEach(memory::drop);
        } catch (RuntimeException e) {
            throw failure.of(e);
        } finally {
            isShadow = false;
        }
    }

    /** Sets the gradients to zero, also those that were not reduced. */
    public synchronized void zeroGradients() {
        memory.clearAll();
    }

    /** Removes the hooks and copies the gradients out of the group's memory. */
    @Override
    public synchronized void close() {
        watch.close();
        parts.forEach(PartGradients::close);
        memory.close();
    }
}
