package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Trains one model on all ranks of a group, each of which keeps a part of the parameters, the gradients and the
 * optimizer states: torch's {@code fully_shard}, and stage 3 of ZeRO. Each block to which {@link FullyShard} is applied
 * is a unit. A unit's parameters are gathered before the unit computes and freed afterwards. Each rank keeps the rows of
 * a parameter that {@code torch.chunk} gives it.
 *
 * <pre>{@code
 * var fsdp = FullyShard.apply(net, mesh.axis("shard"));
 * var optimizer = fsdp.optimizer(FusedAdamW.DEFAULT, ParameterGroup.all(0.1), _ -> 1e-3);
 * try (Step step = fsdp.step()) {
 *     step.backward(net.loss(batch));
 *     double norm = Gradients.clip(fsdp.parameters().values(), 1.0).value();
 *     optimizer.step();
 *     optimizer.zeroGradients();
 * }
 * }</pre>
 *
 * <p>Blocks that have the same module are one unit, which is gathered for each of these blocks.
 *
 * <p>A unit's parameters can be read while the unit computes. At other times libtorch throws an exception. Outside of
 * steps a unit that computes throws.
 *
 * <p>With a deterministic group the parameters have the bits that DistributedDataParallel gives. Confined to one
 * thread. All ranks must run equal passes. Sources: Zhao et al., arXiv:2304.11277; Rajbhandari et al.,
 * arXiv:1910.02054.
 */
public final class FullyShardedDataParallel {
    private final FsdpGroups groups;
    private final FsdpOptions options;
    private final @Nullable ProcessGroup neighbours;
    private final TransferMemory memory;
    private final FsdpPass pass;
    private final ParameterShards shards;
    private final @Nullable ShardOffload offload;
    private final @Nullable OffloadedGradients offloaded;
    private final MovedGradients moved = new MovedGradients();
    private final Set<Long> sharded = new HashSet<>();
    private final Set<ModelBlock> blocks = new HashSet<>();
    /** The units of blocks, by the identities of their parameters. */
    private final Map<Long, FsdpUnit> unitsOfBlocks = new HashMap<>();

    private final List<CommunicationSpan> spans = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private boolean hasModel;
    private boolean isGroupChecked;

    /** Shards over the ranks of an axis. */
    public FullyShardedDataParallel(MeshAxis shards, FsdpOptions options) {
        this(FsdpGroups.ofOneCopy(shards), options, null);
    }

    /**
     * As {@link #FullyShardedDataParallel(MeshAxis, FsdpOptions)}; shards and gradients lie where {@code offload}
     * puts them.
     */
    public FullyShardedDataParallel(MeshAxis shards, FsdpOptions options, ShardOffload offload) {
        this(FsdpGroups.ofOneCopy(shards), options, offload);
    }

    /**
     * Shards over the ranks of one axis and averages gradients over the ranks of both axes: torch's hybrid sharding. If
     * the groups are deterministic, one all-reduce over all ranks adds the gradients in the order of the ranks.
     * Otherwise a reduce-scatter over {@code shards} and an all-reduce over {@code replicas} add the gradients, which
     * sends less.
     *
     * @param shards the ranks that share one copy of the model: {@code mesh.axis("shard")}
     * @param replicas the ranks that hold the same part of the copies: {@code mesh.axis("dp")}
     */
    public FullyShardedDataParallel(MeshAxis shards, MeshAxis replicas, FsdpOptions options) {
        this(FsdpGroups.of(shards, replicas), options, null);
    }

    private FullyShardedDataParallel(FsdpGroups groups, FsdpOptions options, @Nullable ShardOffload offload) {
        Libtorch.load();
        this.groups = groups;
        this.options = options;
        this.offload = offload;
        this.neighbours = groups.neighbours(options.reshardAfterForward());
        this.memory = new TransferMemory(groups.shards());
        this.pass = new FsdpPass(groups, options);
        this.shards = new ParameterShards(pass);
        this.offloaded = offload == null ? null : new OffloadedGradients(offload);
    }

    void shard(ModelBlock block) {
        if (blocks.add(block)) {
            Map<String, Tensor> used = block.parameters();
            FsdpUnit shared = unitOfAll(block.name(), used);
            block.surround(forward -> shared == null ? unit(block.name(), used, forward) : withGather(shared, forward));
        }
    }

    /**
     * The unit of another block that has the same parameters: blocks may share their weights.
     *
     * @throws IllegalArgumentException if the block shares a part of its parameters with other blocks
     */
    private @Nullable FsdpUnit unitOfAll(String block, Map<String, Tensor> used) {
        @Nullable FsdpUnit found = null;
        @Nullable String own = null;
        @Nullable String common = null;
        for (Map.Entry<String, Tensor> parameter : used.entrySet()) {
            FsdpUnit unit = unitsOfBlocks.get(TensorMemory.identity(parameter.getValue()));
            if (unit == null) {
                own = parameter.getKey();
            } else {
                common = parameter.getKey();
                own = found == null || found.equals(unit) ? own : common;
                found = unit;
            }
        }
        if (found != null && own != null) {
            throw new IllegalArgumentException(block + " shares parameter '" + common + "' with " + found.name()
                    + ", but not parameter '" + own + "'. A block is gathered as a whole. Share all parameters of a"
                    + " block, or none: make the shared parameter a part of the model outside of all blocks.");
        }
        return found;
    }

    /** Makes parameters that are in no unit a unit. Returns the forward pass of the unit. */
    UnaryOperator<Tensor> unit(String name, Map<String, Tensor> used, UnaryOperator<Tensor> forward) {
        Map<String, Tensor> parameters = unsharded(used);
        if (parameters.isEmpty()) {
            return forward;
        }
        FsdpUnit unit = newUnit(name, parameters, neighbours);
        pass.add(unit);
        parameters.values().forEach(tensor -> unitsOfBlocks.put(TensorMemory.identity(tensor), unit));
        return withGather(unit, forward);
    }

    private UnaryOperator<Tensor> withGather(FsdpUnit unit, UnaryOperator<Tensor> forward) {
        UnitBoundary input = new UnitBoundary("the input of unit " + unit.name(), () -> pass.afterBackward(unit));
        return x -> {
            pass.beforeForward(unit);
            long[] computed = unit.gatheredVersions();
            UnitBoundary output =
                    new UnitBoundary("the output of unit " + unit.name(), () -> pass.beforeBackward(unit, computed));
            Tensor result = output.at(forward.apply(input.at(options.precision().toUnitType(x))));
            pass.afterForward(unit);
            return options.precision().toOutputType(result);
        };
    }

    /**
     * Makes parameters that are in no unit one more unit. They are whole while a step is open. All parameters of the
     * model are sharded afterwards.
     */
    void root(Map<String, Tensor> used) {
        Map<String, Tensor> parameters = unsharded(used);
        if (!parameters.isEmpty()) {
            if (hasModel) {
                throw new IllegalArgumentException("FullyShard.apply has a second model: its parameter '"
                        + parameters.keySet().iterator().next()
                        + "' is not of the first. Make a FullyShardedDataParallel for each model.");
            }
            pass.setRoot(newUnit("root", parameters, null));
        }
        hasModel = true;
    }

    private FsdpUnit newUnit(String name, Map<String, Tensor> parameters, @Nullable ProcessGroup gathering) {
        for (String parameter : parameters.keySet()) {
            if (!names.add(parameter)) {
                throw new IllegalArgumentException("FullyShard.apply has two parameters with the name '" + parameter
                        + "': two models, or blocks that were made twice. Make a FullyShardedDataParallel for each"
                        + " model.");
            }
        }
        int number = pass.units().size();
        FsdpUnit unit = new FsdpUnit(
                name, parameters, groups, gathering, options.precision(), offload, memory, number, spans::add);
        if (offloaded != null) {
            offloaded.add(unit.parameters());
        }
        moved.add(parameters.values());
        return unit;
    }

    private Map<String, Tensor> unsharded(Map<String, Tensor> used) {
        Map<String, Tensor> parameters = new LinkedHashMap<>(used);
        parameters.values().removeIf(tensor -> !sharded.add(TensorMemory.identity(tensor)));
        return parameters;
    }

    FsdpPass pass() {
        return pass;
    }

    FsdpGroups groups() {
        return groups;
    }

    /**
     * Opens a step, or an evaluation. The parameters outside all units are whole while the step is open.
     *
     * @throws IllegalArgumentException before the first step, if the ranks hold different parts of a parameter, or if a
     *     rank is missing whose gradients must be averaged; the message names the parameter, the axis and both groups
     * @throws IllegalStateException if {@link FullyShard} was not applied to the model, but to blocks only; or if
     *     {@code requires_grad} of a parameter was changed since then
     */
    public Step step() {
        requireModel();
        requireSameFrozen();
        spans.clear();
        requireGroupsFit();
        pass.begin();
        return new Step(pass::backward, pass::end);
    }

    private void requireModel() {
        if (!hasModel) {
            throw new IllegalStateException(
                    "FullyShard was applied to " + pass.units().size()
                            + " blocks, but not to their model: the parameters outside of the blocks would not be trained."
                            + " Call FullyShard.apply(model, sharding) after the last block.");
        }
    }

    /** The rows of a parameter have gradient memory only if the parameter was trained when it was sharded. */
    private void requireSameFrozen() {
        for (FsdpUnit unit : pass.units()) {
            for (int i = 0; i < unit.parameters().count(); i++) {
                if (unit.parameters().module(i).requires_grad()
                        != unit.parameters().shard(i).requires_grad()) {
                    throw new IllegalStateException("requires_grad of parameter '"
                            + unit.parameters().name(i)
                            + "' has changed since FullyShard.apply. Freeze parameters before FullyShard.apply.");
                }
            }
        }
    }

    private void requireGroupsFit() {
        if (!isGroupChecked) {
            Map<String, ShardedTensor> modules = new LinkedHashMap<>();
            for (FsdpUnit unit : pass.units()) {
                for (int i = 0; i < unit.parameters().count(); i++) {
                    String name = unit.parameters().name(i);
                    modules.put(name, ShardedTensor.of(name, unit.parameters().module(i)));
                }
            }
            new GradientGroup("FullyShardedDataParallel", groups.all()).requireReduces(modules);
            isGroupChecked = true;
        }
    }

    /**
     * Opens a scope without reduction, to add up the gradients of several batches. Each rank meanwhile holds the sums of
     * whole units, in the type of the reduction: 4 bytes more for each parameter with float32.
     */
    public NoSync noSync() {
        boolean before = pass.isSyncing();
        pass.setSyncing(false);
        return new NoSync(() -> pass.setSyncing(before));
    }

    /**
     * The parameters by their names, each with the rows that this rank keeps: for an optimizer.
     *
     * @throws IllegalStateException if {@link FullyShard} was not applied to the model
     */
    public Map<String, ShardedTensor> parameters() {
        requireModel();
        return shards.parameters();
    }

    /**
     * An optimizer of all {@link #parameters}, which reads the gradients in {@link #gradientMemory}: its {@code
     * zeroGradients()} frees them. The caller closes the optimizer.
     *
     * @throws IllegalArgumentException see {@link FlatOptimizer}
     * @throws IllegalStateException if {@link FullyShard} was not applied to the model, or if the states lie in files
     */
    public FlatOptimizer optimizer(UpdateRule rule, List<ParameterGroup> groups, LearningRateSchedule schedule) {
        return new FlatOptimizer(parameters(), rule, groups, schedule, gradientMemory());
    }

    /**
     * Gathers the units one after the other and calls {@code read} with each whole parameter, by name. Collective on
     * the ranks that share the model; not inside a step. The tensors are valid during the call only.
     *
     * @return what {@code read} returned, by name
     */
    public <T> Map<String, T> wholeParameters(BiFunction<String, Tensor, T> read) {
        return shards.readWhole(read);
    }

    /**
     * The memory of the gradients of all shards, for a flat optimizer. A unit allocates the memory when the first gradients
     * are added, and frees it when its optimizer's {@code zeroGradients()} drops them. If another optimizer drops them,
     * the memory is free when the next step opens, or when the first unit of a step computes.
     */
    public PaddedGradients gradientMemory() {
        return new GradientsOfUnits(pass);
    }

    /**
     * The names of the units, in the order in which they were sharded. The parameters outside of all blocks are the
     * last.
     */
    public List<String> units() {
        return pass.units().stream().map(FsdpUnit::name).toList();
    }

    /**
     * The collectives, and the reads and writes of offloaded rows, since the last {@link #step} was opened, in the
     * order in which this thread has waited for their ends.
     */
    public List<CommunicationSpan> spans() {
        return List.copyOf(spans);
    }

    /** Bytes of the parameters that are whole at this time on this rank. */
    public long wholeBytes() {
        return pass.units().stream()
                .filter(FsdpUnit::isWhole)
                .mapToLong(unit -> unit.parameters().whole().bytes())
                .sum();
    }
}
