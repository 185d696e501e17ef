package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * One reduction of a unit's gradients: each rank gets the mean of its rows over all ranks. With replicas the sums of
 * the shard groups are added over the replicas. Confined to the training thread.
 */
final class UnitReduction {
    private final String unit;
    private final UnitParameters parameters;
    private final ShardLayout layout;
    private final FsdpGroups groups;
    private final torch.ScalarType type;
    private final Consumer<CommunicationSpan> spans;
    private UnitTransfer running;
    private boolean isScattered;

    /** Begins: takes the gradients of the whole parameters away from the module. A missing gradient counts as zero. */
    UnitReduction(
            String unit,
            UnitParameters parameters,
            ShardLayout layout,
            FsdpGroups groups,
            torch.ScalarType type,
            Consumer<CommunicationSpan> spans) {
        this.unit = unit;
        this.parameters = parameters;
        this.layout = layout;
        this.groups = groups;
        this.type = type;
        this.spans = spans;
        try (Tensor all = empty(layout.allElements());
                Tensor part = empty(layout.partElements()[groups.shard()])) {
            collect(all);
            running = new UnitTransfer(unit, CommunicationSpan.Kind.REDUCE, all, part, this::scatter, spans);
        }
    }

    private void collect(Tensor all) {
        MemorySegment target = TensorMemory.segment(all);
        long width = torch.elementSize(type);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            @Nullable Tensor[] gradients = new Tensor[parameters.count()];
            for (int i = 0; i < gradients.length; i++) {
                Tensor gradient = parameters.module(i).mutable_grad();
                if (gradient.defined()) {
                    gradients[i] = gradient.to(type).contiguous();
                    gradient.reset();
                }
            }
            layout.forEachPiece((parameter, inParameter, inParts, elements) -> {
                MemorySegment piece = target.asSlice(inParts * width, elements * width);
                Tensor gradient = gradients[parameter];
                if (gradient == null) {
                    piece.fill((byte) 0);
                } else {
                    piece.copyFrom(TensorMemory.segment(gradient).asSlice(inParameter * width, elements * width));
                }
            });
        }
    }

    private Work scatter(Tensor input, Tensor output) {
        ReduceOp op = groups.replicas() == null ? ReduceOp.AVG : ReduceOp.SUM;
        TensorCollectives collectives = new TensorCollectives(groups.shards());
        long[] parts = layout.partElements();
        return Arrays.stream(parts).distinct().count() == 1
                ? collectives.reduceScatterAsync(input, output, op)
                : collectives.reduceScatterVAsync(input, output, op, parts);
    }

    /** Waits for the sum over the shard group, and begins the sum over the replicas. */
    void continueOverReplicas() {
        ProcessGroup replicas = groups.replicas();
        if (isScattered || replicas == null) {
            return;
        }
        Tensor part = running.await();
        UnitTransfer scattered = running;
        running = new UnitTransfer(
                unit,
                CommunicationSpan.Kind.REPLICATE,
                part,
                part,
                (_, sum) -> new TensorCollectives(replicas).allReduceAsync(sum, ReduceOp.SUM),
                spans);
        scattered.free();
        isScattered = true;
    }

    /** Waits, and adds the means to the gradients of the shards. */
    void finish() {
        continueOverReplicas();
        Tensor part = running.await();
        long begin = layout.partBegin(groups.shard());
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (groups.replicas() != null) {
                part.div_(new Scalar((double) groups.ranks()));
            }
            parameters.loadGradients();
            layout.forEachPieceOf(
                    groups.shard(),
                    begin,
                    (parameter, _, inParts, elements) -> add(parameter, part.narrow(0, inParts - begin, elements)));
            parameters.releaseGradients();
        }
        running.free();
    }

    private void add(int parameter, Tensor rows) {
        if (parameters.shard(parameter).requires_grad()) {
            parameters.addGradient(parameter, rows.view(TensorMemory.sizes(parameters.shard(parameter))));
        }
    }

    private Tensor empty(long elements) {
        return TransientTensor.of(type, elements);
    }
}
