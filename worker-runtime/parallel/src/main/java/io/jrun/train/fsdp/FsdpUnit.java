package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.ParameterCopies;
import io.jrun.train.reducer.ReductionQueue;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Parameters that are gathered, freed and reduced together. Confined to the training thread. */
final class FsdpUnit implements ParameterCopies {
    private final String name;
    private final Consumer<CommunicationSpan> spans;
    private final UnitParameters parameters;
    private final Device device;
    private final UnitMemory memory;
    /** The trained parameters, by the ranks that add their gradients. */
    private final Map<FsdpGroups, int[]> trained;

    private final UnitGather fromAll;
    private final @Nullable UnitGather fromNeighbours;
    private final DataType reduceType;
    private final @Nullable PaddedMemory rowsForNeighbours;
    /** {@link UnitParameters#versions} when the gather of the present whole values began. */
    private long[] gathered = {};

    /**
     * Shards parameters.
     *
     * @param offload where the shards lie; null for memory
     * @param onHost for whole parameters and gradients in host memory
     * @param number of the unit
     * @param neighbours the group that gathers in the backward pass; null for all ranks that share the model
     */
    FsdpUnit(
            String name,
            Map<String, Tensor> parameters,
            FsdpGroups groups,
            @Nullable ProcessGroup neighbours,
            MixedPrecisionPolicy precision,
            @Nullable ShardOffload offload,
            TransferMemory onHost,
            int number,
            Consumer<CommunicationSpan> spans) {
        this.name = name;
        this.spans = spans;
        this.device = UnitParameters.device(parameters);
        UnitMemory own = new LibtorchMemory(device);
        this.memory = device.isCpu() ? onHost : own;
        this.parameters = new UnitParameters(
                parameters,
                UnitParameters.layout(parameters, groups.shards().size()),
                groups.shard(),
                precision.parameterType(),
                precision.reduceType(),
                memory,
                own,
                offload == null ? null : new UnitOffload(offload, number, name, spans));
        this.trained = trained(groups, this.parameters);
        this.parameters.notePlaces(groups.axis());
        this.fromAll = new UnitGather(name, this.parameters, groups.shards(), memory, spans);
        this.fromNeighbours =
                neighbours == null ? null : new UnitGather(name, this.parameters, neighbours, memory, spans);
        this.rowsForNeighbours = fromNeighbours == null
                ? null
                : new PaddedMemory(
                        IntStream.range(0, this.parameters.count())
                                .mapToObj(i -> new long[] {fromNeighbours.elements(i)})
                                .toList(),
                        this.parameters.type(),
                        own);
        DataType reduce = precision.reduceType();
        this.reduceType = reduce == null ? this.parameters.dataType() : reduce;
    }

    private static Map<FsdpGroups, int[]> trained(FsdpGroups groups, UnitParameters parameters) {
        Map<FsdpGroups, List<Integer>> trained = new LinkedHashMap<>();
        for (int i = 0; i < parameters.count(); i++) {
            FsdpGroups ofParameter = groups.of(parameters.name(i), parameters.module(i));
            if (parameters.shard(i).requires_grad()) {
                trained.computeIfAbsent(ofParameter, _ -> new ArrayList<>()).add(i);
            }
        }
        Map<FsdpGroups, int[]> numbers = new LinkedHashMap<>();
        trained.forEach((ofParameters, found) -> numbers.put(
                ofParameters, found.stream().mapToInt(Integer::intValue).toArray()));
        return numbers;
    }

    String name() {
        return name;
    }

    UnitParameters parameters() {
        return parameters;
    }

    boolean isWhole() {
        return parameters.whole().isAllocated() && !isGathering();
    }

    private boolean isGathering() {
        return fromAll.isRunning() || (fromNeighbours != null && fromNeighbours.isRunning());
    }

    /** Whether the rows are offloaded and not being read, and the next gather needs them. */
    boolean readsBeforeGather() {
        boolean hasRowsForNeighbours = rowsForNeighbours != null && rowsForNeighbours.isAllocated();
        return parameters.offloaded().isPresent()
                && !isReading()
                && !parameters.whole().isAllocated()
                && !hasRowsForNeighbours;
    }

    /** Whether the rows are being read, or are in memory for the next gather. */
    boolean isReading() {
        return parameters.offloaded().filter(OffloadedShards::isReading).isPresent();
    }

    /** Begins to read the offloaded rows for the next gather. */
    void beginRead() {
        parameters.offloaded().ifPresent(OffloadedShards::beginLoad);
    }

    /** Frees the rows that no gather has used. */
    void dropRead() {
        parameters.offloaded().ifPresent(OffloadedShards::release);
    }

    /** Begins to gather, if the unit is not whole and not being gathered. */
    void beginGather() {
        if (parameters.whole().isAllocated()) {
            return;
        }
        PaddedMemory kept = rowsForNeighbours;
        if (fromNeighbours != null && kept != null && kept.isAllocated()) {
            fromNeighbours.begin((target, parameter) ->
                    TensorMemory.copy(kept.segment(parameter, 0, fromNeighbours.elements(parameter)), target, device));
            kept.free();
            return;
        }
        parameters.offloaded().ifPresent(OffloadedShards::load);
        gathered = parameters.versions();
        try {
            fromAll.begin(this::copyShard);
        } finally {
            parameters.offloaded().ifPresent(OffloadedShards::release);
        }
    }

    private void copyShard(MemorySegment target, int parameter) {
        Tensor shard = parameters.shard(parameter);
        if (shard.numel() == 0) {
            return;
        }
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor rows = TensorMemory.tensor(target, device, parameters.type(), TensorMemory.sizes(shard));
            if (shard.scalar_type().intern() == parameters.type()) {
                TensorMemory.copy(shard, rows);
            } else {
                rows.copy_(shard);
            }
        }
    }

    /** Makes the unit whole. */
    void gather() {
        beginGather();
        if (fromAll.isRunning()) {
            fromAll.finish();
        } else if (fromNeighbours != null && fromNeighbours.isRunning()) {
            fromNeighbours.finish();
        } else {
            return;
        }
        parameters.attachWhole();
    }

    /** Makes a read of old values an error, see {@link FsdpPass#setRoot}. */
    @Override
    public void parametersAreUpdated() {
        if (isWhole() && !Arrays.equals(gathered, parameters.versions())) {
            parameters.requireWholeUnchanged(name);
            parameters.detachWhole();
        }
    }

    /** Checks the values before a forward pass computes with them. */
    void requireCurrent() {
        requireSame(parameters.versions());
    }

    /** {@link UnitParameters#versions} of the present whole values, to compare a backward pass with its forward pass. */
    long[] gatheredVersions() {
        return gathered;
    }

    /**
     * Checks the values before a backward pass computes with them.
     *
     * @param computed {@link #gatheredVersions} in the forward pass
     */
    void requireValuesOf(long[] computed) {
        requireCurrent();
        requireSame(computed);
    }

    private void requireSame(long[] versions) {
        if (!Arrays.equals(gathered, versions)) {
            throw new IllegalStateException("the parameters have changed since the step gathered unit '" + name
                    + "', by an optimizer, a load or averages. This pass would use old values of the unit. Open a step"
                    + " after each change: try (Step step = fsdp.step()) { ... }. This error is final: it ends the groups"
                    + " of the model on all ranks, and each later step throws it again.");
        }
    }

    /**
     * Frees the whole parameters.
     *
     * @param mayGoBack whether a backward pass may follow; if it gathers from neighbours, keeps a part for them
     */
    void reshardAfterForward(boolean mayGoBack) {
        if (mayGoBack && fromNeighbours != null && rowsForNeighbours != null && isWhole()) {
            rowsForNeighbours.allocate();
            for (int i = 0; i < parameters.count(); i++) {
                TensorMemory.copy(
                        fromNeighbours.ownRows(i), rowsForNeighbours.segment(i, 0, fromNeighbours.elements(i)), device);
            }
        }
        free();
    }

    /** Frees the whole parameters, and rows that were read ahead; a gather under way ends first. */
    void reshard() {
        if (isGathering()) {
            gather();
        }
        free();
        if (rowsForNeighbours != null) {
            rowsForNeighbours.free();
        }
        dropRead();
    }

    private void free() {
        parameters.requireWholeUnchanged(name);
        parameters.detachWhole();
        parameters.whole().free();
    }

    /** Begins to reduce the gradients. Writes of offloaded gradients go to {@code writes}. */
    void reduce(ReductionQueue reductions, ReductionQueue writes) {
        trained.forEach((groups, numbers) -> reductions.add(
                new UnitReduction(name, parameters, numbers, groups, reduceType, memory, spans, writes)));
    }
}
