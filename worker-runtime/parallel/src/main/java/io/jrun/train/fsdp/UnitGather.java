package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Gathers the whole parameters of a unit from the rows of the ranks of one group. Each large parameter is one
 * collective in its place in the whole memory: the rows of the ranks lie one behind the other there. The small
 * parameters travel together and are then copied to their places. Confined to the training thread.
 */
final class UnitGather {
    /** The bytes from which a collective of its own costs less than copies of the parameter. */
    private static final long LARGE_BYTES = 128 << 10;

    private final String unit;
    private final UnitParameters parameters;
    private final ShardLayout layout;
    private final ProcessGroup group;
    private final UnitMemory memory;
    private final Consumer<CommunicationSpan> spans;
    private final DataType type;
    private final int[] large;
    private final int[] small;
    private final ShardLayout smallLayout;
    private @Nullable Tensor packed;
    private @Nullable UnitTransfer running;

    UnitGather(
            String unit,
            UnitParameters parameters,
            ProcessGroup group,
            UnitMemory memory,
            Consumer<CommunicationSpan> spans) {
        this.unit = unit;
        this.parameters = parameters;
        this.layout = new ShardLayout(parameters.shapes(), group.size());
        this.group = group;
        this.memory = memory;
        this.spans = spans;
        this.type = parameters.dataType();
        this.large =
                IntStream.range(0, parameters.count()).filter(this::isLarge).toArray();
        this.small =
                IntStream.range(0, parameters.count()).filter(i -> !isLarge(i)).toArray();
        this.smallLayout =
                new ShardLayout(Arrays.stream(small).mapToObj(parameters::shape).toList(), group.size());
    }

    private boolean isLarge(int parameter) {
        return wholeElements(parameter) * type.sizeBytes() >= LARGE_BYTES;
    }

    private long wholeElements(int parameter) {
        return Arrays.stream(parameters.shape(parameter)).reduce(1, (a, b) -> a * b);
    }

    /** Writes this rank's rows of a parameter to memory of the device. */
    @FunctionalInterface
    interface OwnRows {
        void copyTo(MemorySegment target, int parameter);
    }

    boolean isRunning() {
        return running != null;
    }

    /** The number of elements in this rank's rows of a parameter. */
    long elements(int parameter) {
        return layout.elements(parameter, rank());
    }

    /** This rank's rows of a parameter, in the whole memory. */
    MemorySegment ownRows(int parameter) {
        return parameters.whole().segment(parameter, layout.firstElement(parameter, rank()), elements(parameter));
    }

    /** Takes memory for the whole parameters and begins to fill it. */
    void begin(OwnRows own) {
        long launched = System.nanoTime();
        parameters.whole().allocate();
        List<Work> works = new ArrayList<>();
        for (int parameter : large) {
            MemorySegment whole = parameters.whole().segment(parameter, 0, wholeElements(parameter));
            long[] counts = IntStream.range(0, group.size())
                    .mapToLong(rank -> layout.elements(parameter, rank))
                    .toArray();
            MemorySegment mine = ownRows(parameter);
            own.copyTo(mine, parameter);
            works.add(start(mine, whole, counts));
        }
        if (small.length > 0) {
            packed = memory.take(bytes(smallLayout.allElements()));
            MemorySegment all = TensorMemory.elements(packed);
            long[] counts = smallLayout.partElements();
            smallLayout.forEachPieceOf(
                    rank(),
                    smallLayout.partBegin(rank()),
                    (index, _, inParts, count) -> own.copyTo(slice(all, inParts, count), small[index]));
            works.add(start(
                    slice(all, smallLayout.partBegin(rank()), counts[rank()]),
                    slice(all, 0, smallLayout.allElements()),
                    counts));
        }
        running = new UnitTransfer(
                unit,
                CommunicationSpan.Kind.GATHER,
                bytes(layout.allElements()),
                launched,
                works,
                memory.device(),
                spans);
    }

    private Work start(MemorySegment mine, MemorySegment whole, long[] counts) {
        return Arrays.stream(counts).distinct().count() == 1
                ? group.allGatherAsync(memory.buffer(mine, type), memory.buffer(whole, type))
                : group.allGatherVAsync(memory.buffer(mine, type), memory.buffer(whole, type), counts);
    }

    /** Waits until the whole parameters are in their places. */
    void finish() {
        UnitTransfer transfer = running;
        if (transfer == null) {
            throw new IllegalStateException("no gather of unit '" + unit + "' has begun");
        }
        transfer.await();
        if (packed != null) {
            MemorySegment all = TensorMemory.elements(packed);
            List<MemorySegment> from = new ArrayList<>();
            List<MemorySegment> to = new ArrayList<>();
            smallLayout.forEachPiece((index, inParameter, inParts, count) -> {
                from.add(slice(all, inParts, count));
                to.add(parameters.whole().segment(small[index], inParameter, count));
            });
            TensorMemory.copyAll(from, to, parameters.type(), memory.device());
            memory.give(packed);
            packed = null;
        }
        running = null;
    }

    private int rank() {
        return group.groupRank();
    }

    private long bytes(long elements) {
        return elements * type.sizeBytes();
    }

    private MemorySegment slice(MemorySegment all, long first, long count) {
        return all.asSlice(bytes(first), bytes(count));
    }
}
