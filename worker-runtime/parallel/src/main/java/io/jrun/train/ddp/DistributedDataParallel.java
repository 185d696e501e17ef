package io.jrun.train.ddp;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.GradientReducer;
import io.jrun.train.reducer.ReducerOptions;
import io.jrun.train.reducer.ReductionException;
import io.jrun.train.reducer.ReductionGroups;
import io.jrun.train.reducer.ReductionTimeline;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Trains a module on all ranks of a group. After each backward pass every {@code .grad} is the mean over ranks, so
 * equal optimizers keep equal parameters. Construction is collective. The constructor checks that all ranks have built
 * the same model, and copies rank 0's parameters and buffers to the other ranks.
 *
 * <p>Gradients lie in the group's registered memory, or in memory of the parameters' device. Close this object before
 * the group; after the group is closed, gradients of an open object must not be used. On a device a backward pass
 * returns when the reductions are queued; later work on the default stream sees the means. With a deterministic group the result equals, bit for bit, the result
 * of one process that adds the ranks' gradients in rank order and divides by the number of ranks.
 *
 * <p>Confined to the thread that runs the steps. All ranks must run synchronised backward passes equally often.
 *
 * @param <M> the user's module; its forward method is called on {@link #module()}
 */
public final class DistributedDataParallel<M extends Module> implements AutoCloseable {
    private static final String USER = "DistributedDataParallel";

    private final M module;
    private final DdpOptions options;
    private final Map<String, Tensor> buffers;
    private final TensorCollectives collectives;
    private final GradientReducer reducer;
    /** The parameters without gradients. */
    private final Map<String, Tensor> frozen;

    /** As {@link #routed(Map)}, when the buckets were made. */
    private final Map<String, List<MeshAxis>> routed;

    private final ProcessGroup group;
    private final ReductionGroups groups;
    private @Nullable Join join;
    private boolean hasOwnHook;
    private boolean isGroupChecked;

    /** Wraps {@code module} with {@link DdpOptions#DEFAULT}. */
    public DistributedDataParallel(M module, ProcessGroup group) {
        this(module, group, DdpOptions.DEFAULT);
    }

    /**
     * Wraps {@code module}.
     *
     * @throws ReductionException if the models of the ranks differ, or if a gradient cannot be reduced; the message names the
     *     tensor and both shapes
     * @throws IllegalArgumentException if the ranks of the group hold different parts of a parameter, or if the group
     *     lacks a rank whose gradients must be averaged; the message names the parameter, the axis and both groups. Also
     *     if something reduces the gradient of a parameter already, such as {@code FullyShard}, or if an embedding has a
     *     {@code max_norm}
     */
    public DistributedDataParallel(M module, ProcessGroup group, DdpOptions options) {
        this(module, group, options, GradientReducer::new);
    }

    DistributedDataParallel(M module, ProcessGroup group, DdpOptions options, ReducerFactory reducers) {
        Libtorch.load();
        this.module = module;
        this.options = options;
        this.group = group;
        this.groups = new ReductionGroups(group);
        Map<String, Tensor> all = ModuleTensors.all(module);
        options.requireIgnoredIn(all.keySet());
        Map<String, Tensor> state = without(options.ignored(), all);
        this.buffers = without(options.ignored(), ModuleTensors.buffers(module));
        Map<String, Tensor> parameters = without(options.ignored(), ModuleTensors.parameters(module));
        requireUnreduced(parameters);
        ChangedWeights.refuse(module, options.ignored());
        new GradientGroup(USER, group).requireReduces(Parameters.of(parameters));
        StateAgreement.verify(group, state);
        requireUsableDevice(group, state);
        this.collectives = new TensorCollectives(group);
        groups.broadcast(state.values());
        this.reducer = create(reducers, parameters);
        this.routed = routed(parameters);
        this.frozen = new LinkedHashMap<>(parameters);
        frozen.values().removeIf(Tensor::requires_grad);
    }

    private GradientReducer create(ReducerFactory reducers, Map<String, Tensor> parameters) {
        try {
            return reducers.create(parameters, groups, options.reduction());
        } catch (RuntimeException e) {
            groups.close();
            throw e;
        }
    }

    /** The axes that route samples to the parts of each parameter. */
    private static Map<String, List<MeshAxis>> routed(Map<String, Tensor> parameters) {
        Map<String, List<MeshAxis>> axes = new HashMap<>();
        Parameters.of(parameters).forEach((name, parameter) -> axes.put(name, parameter.routed()));
        return axes;
    }

    private static Map<String, Tensor> without(Set<String> ignored, Map<String, Tensor> named) {
        named.keySet().removeAll(ignored);
        return named;
    }

    private static void requireUnreduced(Map<String, Tensor> parameters) {
        parameters.forEach((name, tensor) -> {
            if (ParameterNotes.gradients(tensor).isPresent()) {
                throw new IllegalArgumentException("the gradient of parameter '" + name
                        + "' is reduced by FullyShard or ZeRO already. Train a sharded model without"
                        + " DistributedDataParallel: try (Step step = fsdp.step()) { ... }. For copies of the shards"
                        + " make the FullyShardedDataParallel with an axis of replicas.");
            }
        });
    }

    private static void requireUsableDevice(ProcessGroup group, Map<String, Tensor> state) {
        Device device = state.values().stream()
                .filter(Tensor::requires_grad)
                .findFirst()
                .map(TensorMemory::device)
                .orElse(Device.CPU);
        state.forEach((name, tensor) -> {
            Device own = TensorMemory.device(tensor);
            group.unsupportedReason(own).ifPresent(reason -> {
                throw new ReductionException("tensor '" + name + "' is on the device " + own + ": " + reason);
            });
            if (!own.equals(device)) {
                throw new ReductionException(
                        "tensor '" + name + "' is on the device " + own + ", but other tensors of the module"
                                + " are on " + device
                                + ". Move the module to one device with to(device, false).");
            }
        });
    }

    /** Makes the reducer. Tests pass faulty reducers. */
    @FunctionalInterface
    interface ReducerFactory {
        GradientReducer create(Map<String, Tensor> parameters, ReductionGroups groups, ReducerOptions options);
    }

    /** The wrapped module. */
    public M module() {
        return module;
    }

    /**
     * Opens a step, see {@link Step}. With {@link DdpOptions#syncBuffers()} all ranks copy rank 0's buffers.
     *
     * @throws IllegalStateException if a parameter was unfrozen since the construction: the ranks would not average its
     *     gradient; or if ranks share the optimizer states, and no {@code ZeroOptimizer} was made before the second step
     */
    public Step step() {
        reducer.requireIdle();
        reducer.requireOptimizer();
        requireFrozen();
        requireGroupFits();
        if (reducer.isSyncing()) {
            if (join != null) {
                join.stepBegins();
            } else if (options.syncBuffers()) {
                collectives.broadcastAll(buffers.values(), 0);
            }
        }
        reducer.clock().stepBegins();
        return new Step(reducer::backward, this::endStep);
    }

    private void requireFrozen() {
        frozen.forEach((name, parameter) -> {
            if (parameter.requires_grad()) {
                throw new IllegalStateException(
                        "parameter '" + name + "' was frozen when DistributedDataParallel was made,"
                                + " and requires a gradient now. Make a new DistributedDataParallel, or list the parameter as"
                                + " ignored.");
            }
        });
    }

    /** A parallelism may have changed the model since the construction. */
    private void requireGroupFits() {
        if (!isGroupChecked) {
            Map<String, Tensor> parameters = without(options.ignored(), ModuleTensors.parameters(module));
            new GradientGroup(USER, group).requireReducesHere(Parameters.of(parameters));
            routed(parameters).forEach((name, axes) -> {
                if (!axes.equals(routed.get(name))) {
                    throw new IllegalArgumentException(
                            "parameter '" + name + "': ranks share it since"
                                    + " DistributedDataParallel was made. Apply ExpertParallel before DistributedDataParallel.");
                }
            });
            isGroupChecked = true;
        }
    }

    /** Opens a scope without reduction, for the sum of the gradients of several batches. */
    public NoSync noSync() {
        reducer.requireIdle();
        boolean before = reducer.isSyncing();
        reducer.setSyncing(false);
        return new NoSync(() -> reducer.setSyncing(before));
    }

    private void endStep() {
        // The caller already has the exception of a failed pass.
        if (!reducer.hasFailed()) {
            reducer.requireIdle();
        }
    }

    /**
     * Runs training whose ranks have unequal numbers of inputs; collective. A rank on which {@code training} has
     * returned takes part in the steps of the other ranks with gradients of zero, until {@code training} has returned
     * on all ranks. All ranks therefore make the same updates and end with the same parameters, buffers and optimizer
     * states.
     *
     * <p>Each step of {@code training} has exactly one synchronised backward pass and one update. A module whose
     * forward pass communicates ({@link SyncBatchNorm}) needs {@link JoinOptions#throwOnEarlyTermination}.
     *
     * @param update the work of a step after its backward pass, such as {@code optimizer::step}; runs on ranks without
     *     inputs
     * @param training runs the steps with the inputs of this rank; may run no step
     * @throws EarlyTerminationException with {@link JoinOptions#throwOnEarlyTermination}, on all ranks
     */
    public <E extends Exception> void join(JoinOptions joinOptions, Runnable update, Training<E> training) throws E {
        if (join != null) {
            throw new IllegalStateException("join() is called inside join()");
        }
        Join current = new Join(group, reducer, options.syncBuffers() ? buffers.values() : List.of(), joinOptions);
        join = current;
        try {
            training.run();
            current.shadow(update);
        } finally {
            join = null;
        }
    }

    /** Steps that a rank runs inside {@link #join}. */
    @FunctionalInterface
    public interface Training<E extends Exception> {
        /** Runs steps until this rank has no inputs left. */
        void run() throws E;
    }

    /**
     * Replaces the exchange of gradients. All ranks register the same hook before the first backward pass.
     *
     * @throws IllegalStateException if a gradient was reduced before, or if a hook was registered before
     */
    public void registerHook(CommunicationHook hook) {
        if (reducer.placement() != GradientPlacement.REPLICATED) {
            throw new IllegalStateException("ranks that share the states have an exchange of their own");
        }
        if (hasOwnHook || reducer.passes() > 0) {
            throw new IllegalStateException("registerHook must be called once, before the first backward pass; "
                    + (hasOwnHook
                            ? "the hook " + reducer.hook().name() + " is registered"
                            : reducer.passes() + " passes were reduced"));
        }
        reducer.setHook(hook);
        hasOwnHook = true;
    }

    /**
     * The memory of all gradients. Each gradient begins on a cache line and is padded with zeros to a whole cache line.
     * A flat optimizer reads the gradients from this memory without a copy. Host memory keeps its address until the
     * group is closed. If the parameters are on another device, these are addresses of the device, which the JVM cannot
     * read; the memory is valid until this object is closed.
     */
    public PaddedGradients gradientMemory() {
        return reducer.gradientMemory();
    }

    /** The reducer of the gradients: for {@code ZeroOptimizer}. */
    public GradientReducer reducer() {
        return reducer;
    }

    /** The times of the last reduction. */
    public ReductionTimeline lastReduction() {
        return reducer.clock().last();
    }

    /** The sum over all steps since construction of the time for which the step waited for communication. */
    public Duration exposedCommunication() {
        return Duration.ofNanos(reducer.clock().exposedNanos());
    }

    /** Parameter names of each bucket, in the order in which the buckets are reduced. */
    public List<List<String>> buckets() {
        return reducer.buckets().stream()
                .map(bucket -> List.copyOf(bucket.keySet()))
                .toList();
    }

    /** The counts, the settings and the times of all reductions so far. */
    public DdpReport report() {
        return new DdpReport(
                group.worldRank(group.groupRank()),
                group.size(),
                module.getClass().getName(),
                reducer.passes(),
                options,
                reducer.hook().name(),
                reducer.parameterCount(),
                reducer.parameterBytes(),
                reducer.isRebuilt(),
                buckets(),
                reducer.unusedNames(),
                reducer.usesAreConstant(),
                reducer.clock().last(),
                reducer.clock().mean());
    }

    /** Removes the hooks. The module and its gradients stay usable. */
    @Override
    public void close() {
        reducer.close();
        groups.close();
    }
}
