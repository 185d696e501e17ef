package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Gathers the whole parameters of a unit from the parts of the ranks of one group. Confined to the training thread. */
final class UnitGather {
    private final String unit;
    private final UnitParameters parameters;
    private final ShardLayout layout;
    private final ProcessGroup group;
    private final Consumer<CommunicationSpan> spans;
    private @Nullable UnitTransfer running;

    UnitGather(
            String unit,
            UnitParameters parameters,
            ShardLayout layout,
            ProcessGroup group,
            Consumer<CommunicationSpan> spans) {
        this.unit = unit;
        this.parameters = parameters;
        this.layout = layout;
        this.group = group;
        this.spans = spans;
    }

    boolean isRunning() {
        return running != null;
    }

    /**
     * Begins. {@code part} holds this rank's elements in the order of the layout; the gather takes a reference to it.
     */
    void begin(Tensor part) {
        try (Tensor all = empty(layout.allElements())) {
            running = new UnitTransfer(unit, CommunicationSpan.Kind.GATHER, part, all, this::start, spans);
        }
    }

    private Work start(Tensor input, Tensor output) {
        TensorCollectives collectives = new TensorCollectives(group);
        long[] parts = layout.partElements();
        return Arrays.stream(parts).distinct().count() == 1
                ? collectives.allGatherAsync(input, output)
                : collectives.allGatherVAsync(input, output, parts);
    }

    /** Waits, and puts every element in its place in the whole parameters. */
    void finish() {
        UnitTransfer transfer = running;
        if (transfer == null) {
            throw new IllegalStateException("no gather of unit '" + unit + "' has begun");
        }
        MemorySegment all = TensorMemory.segment(transfer.await());
        PaddedMemory whole = parameters.whole();
        whole.allocate();
        long width = torch.elementSize(parameters.type());
        layout.forEachPiece(
                (parameter, inParameter, inParts, elements) -> whole.segment(parameter, inParameter, elements)
                        .copyFrom(all.asSlice(inParts * width, elements * width)));
        transfer.free();
        running = null;
    }

    /** This rank's elements, taken from the shards. */
    Tensor partOfShards() {
        parameters.loadShards();
        try {
            return part((parameter, _, _) -> {
                Tensor shard = parameters.shard(parameter);
                return shard.scalar_type().intern() == parameters.type() ? shard : shard.to(parameters.type());
            });
        } finally {
            parameters.releaseShards();
        }
    }

    /** This rank's elements, taken from the whole parameters. */
    Tensor partOfWhole() {
        return part((parameter, first, elements) ->
                parameters.module(parameter).detach().view(-1).narrow(0, first, elements));
    }

    private Tensor part(PieceSource source) {
        long width = torch.elementSize(parameters.type());
        long begin = layout.partBegin(group.groupRank());
        Tensor part = empty(layout.partElements()[group.groupRank()]);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            layout.forEachPieceOf(group.groupRank(), begin, (parameter, inParameter, inParts, elements) -> {
                Tensor piece = source.piece(parameter, inParameter, elements);
                TensorMemory.segment(part)
                        .asSlice((inParts - begin) * width, elements * width)
                        .copyFrom(TensorMemory.segment(piece));
            });
        }
        return part;
    }

    /** Gives elements of a parameter, contiguous and of the unit's type. */
    @FunctionalInterface
    private interface PieceSource {
        Tensor piece(int parameter, long first, long elements);
    }

    private Tensor empty(long elements) {
        return TransientTensor.of(parameters.type(), elements);
    }
}
