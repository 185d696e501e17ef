package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.ReductionQueue;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * One reduction of a unit's gradients: each rank gets the mean of its rows over all ranks. With replicas the sums of
 * the shard groups are added over the replicas; with replicas on a deterministic group one all-reduce over all ranks
 * adds the gradients in rank order. Confined to the training thread.
 */
final class UnitReduction implements BucketReduction {
    private final String unit;
    private final UnitParameters parameters;
    /** The numbers of the parameters. The layout has these parameters. */
    private final int[] trained;

    private final ShardLayout layout;
    private final FsdpGroups groups;
    private final DataType type;
    private final UnitMemory memory;
    private final Device device;
    private final Consumer<CommunicationSpan> spans;
    private final ReductionQueue writes;
    private final Tensor taken;
    /** The gradients of all ranks' rows. */
    private final MemorySegment all;
    /** This rank's rows of all gradients, within the gradients of all ranks' rows. */
    private final MemorySegment part;

    private UnitTransfer running;
    private boolean isScattered;

    /**
     * Begins: takes the gradients of the whole parameters away from the module. A missing gradient counts as zero.
     *
     * @param trained the numbers of the parameters whose gradients {@code groups} add
     */
    UnitReduction(
            String unit,
            UnitParameters parameters,
            int[] trained,
            FsdpGroups groups,
            DataType type,
            UnitMemory memory,
            Consumer<CommunicationSpan> spans,
            ReductionQueue writes) {
        this.unit = unit;
        this.parameters = parameters;
        this.trained = trained;
        this.layout = new ShardLayout(
                Arrays.stream(trained).mapToObj(parameters::shape).toList(),
                groups.shards().size());
        this.groups = groups;
        this.type = type;
        this.memory = memory;
        this.device = memory.device();
        this.spans = spans;
        this.writes = writes;
        long bytes = layout.allElements() * type.sizeBytes();
        // As much as the whole parameters have, so that both use one piece of memory after another.
        boolean areAll = trained.length == parameters.trained().length;
        taken = memory.take(areAll ? Math.max(bytes, parameters.whole().bytes()) : bytes);
        all = TensorMemory.elements(taken).asSlice(0, bytes);
        part = all.asSlice(
                layout.partBegin(groups.shard()) * type.sizeBytes(),
                layout.partElements()[groups.shard()] * type.sizeBytes());
        collect();
        parameters.offloaded().ifPresent(OffloadedShards::beginLoadGradients);
        running = new UnitTransfer(
                unit, CommunicationSpan.Kind.REDUCE, bytes, System.nanoTime(), List.of(reduce()), device, spans);
    }

    private void collect() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            @Nullable Tensor[] gradients = new Tensor[trained.length];
            for (int i = 0; i < gradients.length; i++) {
                gradients[i] = parameters.moduleGradients().take(trained[i], TensorTypes.scalarType(type));
            }
            Tensor flat = TensorMemory.tensor(all, device, TensorTypes.scalarType(type), layout.allElements());
            layout.forEachPiece((parameter, inParameter, inParts, elements) -> {
                Tensor piece = flat.narrow(0, inParts, elements);
                Tensor gradient = gradients[parameter];
                if (gradient == null) {
                    piece.zero_();
                } else {
                    TensorMemory.copy(gradient.narrow(0, inParameter, elements), piece);
                }
            });
        }
    }

    private Work reduce() {
        ReduceOp op = groups.dividesSums() ? ReduceOp.SUM : ReduceOp.AVG;
        if (groups.addsInRankOrder()) {
            return groups.all().allReduceAsync(memory.buffer(all, type), op);
        }
        long[] parts = layout.partElements();
        return Arrays.stream(parts).distinct().count() == 1
                ? groups.shards().reduceScatterAsync(memory.buffer(all, type), memory.buffer(part, type), op)
                : groups.shards().reduceScatterVAsync(memory.buffer(all, type), memory.buffer(part, type), op, parts);
    }

    /** Waits for the sum over the shard group, and begins the sum over the replicas. */
    @Override
    public void proceed() {
        ProcessGroup replicas = groups.replicas();
        if (isScattered || replicas == null || groups.addsInRankOrder()) {
            return;
        }
        running.await();
        long launched = System.nanoTime();
        Work sum = replicas.allReduceAsync(memory.buffer(part, type), ReduceOp.SUM);
        running = new UnitTransfer(
                unit, CommunicationSpan.Kind.REPLICATE, part.byteSize(), launched, List.of(sum), device, spans);
        isScattered = true;
    }

    /** Waits, adds the means to the gradients of the shards, and begins to write offloaded gradients. */
    @Override
    public void finish() {
        proceed();
        running.await();
        long begin = layout.partBegin(groups.shard());
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor sums =
                    TensorMemory.tensor(part, device, TensorTypes.scalarType(type), part.byteSize() / type.sizeBytes());
            if (groups.dividesSums()) {
                sums.div_(new Scalar((double) groups.samples()));
            }
            parameters.offloaded().ifPresent(OffloadedShards::loadGradients);
            layout.forEachPieceOf(
                    groups.shard(),
                    begin,
                    (index, _, inParts, elements) -> add(trained[index], sums.narrow(0, inParts - begin, elements)));
            parameters.offloaded().ifPresent(OffloadedShards::beginStoreGradients);
        }
        memory.give(taken);
        parameters.offloaded().ifPresent(offloaded -> writes.add(offloaded::finishStore));
    }

    private void add(int parameter, Tensor rows) {
        parameters.gradients().add(parameter, rows.view(TensorMemory.sizes(parameters.shard(parameter))));
    }
}
