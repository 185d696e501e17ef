package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Runs calls with uneven blocks as calls with even blocks, which every library has: an all-gather as one broadcast from
 * each rank, a reduce-scatter as one reduce to each rank, all other kinds with blocks as long as the longest block.
 * First all ranks exchange their sizes, and all fail in the same way if the sizes do not match. Confined to the group's
 * collectives.
 */
final class UnevenCalls {
    private final GroupContext group;
    private final Backend library;
    private final Scratch scratch = new Scratch();

    UnevenCalls(GroupContext group, Backend library) {
        this.group = group;
        this.library = library;
    }

    void run(Call call) {
        Sizes sizes = exchange(call);
        compare(call, sizes);
        switch (call.kind()) {
            case ALL_GATHER -> allGather(call);
            case REDUCE_SCATTER -> reduceScatter(call);
            case GATHER -> gather(call);
            case SCATTER -> scatter(call);
            case ALL_TO_ALL -> allToAll(call, sizes);
            default -> throw new IllegalArgumentException(call.describe() + " has no blocks");
        }
    }

    /** The blocks of all ranks, by rank: outgoing to each rank, and expected from each rank. */
    private record Sizes(List<Blocks> outgoing, List<Blocks> incoming) {
        long longest() {
            return outgoing.stream().mapToLong(Blocks::longest).max().orElse(0);
        }
    }

    private Sizes exchange(Call call) {
        int size = group.size();
        long[] mine = new long[2 * size];
        for (int peer = 0; peer < size; peer++) {
            mine[peer] = call.blocks(size).count(peer);
            mine[size + peer] = call.incoming(size).count(peer);
        }
        long[] all = new long[2 * size * size];
        library.run(new Call(
                call.sequence(),
                OpKind.ALL_GATHER,
                DataType.I64,
                ReduceOp.SUM,
                mine.length,
                0,
                MemorySegment.ofArray(mine),
                MemorySegment.ofArray(all),
                call.deadline(),
                null,
                null,
                0,
                call.asCalled()));
        return new Sizes(rows(all, 0), rows(all, size));
    }

    /** Returns the sizes that begin at {@code from} of each rank's row. */
    private List<Blocks> rows(long[] all, int from) {
        int size = group.size();
        return IntStream.range(0, size)
                .map(rank -> 2 * size * rank + from)
                .mapToObj(at -> Blocks.of(Arrays.copyOfRange(all, at, at + size)))
                .toList();
    }

    /** Compares the sizes. All ranks find the same difference. */
    private void compare(Call call, Sizes sizes) {
        boolean ofEachRank = call.kind() == OpKind.ALL_TO_ALL;
        for (int first = 0; first < group.size(); first++) {
            for (int second = first + 1; second < group.size(); second++) {
                boolean fits = ofEachRank
                        ? sizes.outgoing().get(first).count(second)
                                        == sizes.incoming().get(second).count(first)
                                && sizes.outgoing().get(second).count(first)
                                        == sizes.incoming().get(first).count(second)
                        : sizes.outgoing().get(first).equals(sizes.outgoing().get(second));
                if (!fits) {
                    throw new CommException(
                            ErrorCode.COLLECTIVE_MISMATCH,
                            calledBy(first, call, sizes) + ", " + calledBy(second, call, sizes) + " on " + group.label()
                                    + ". All ranks must make the same calls in the same order.");
                }
            }
        }
    }

    private String calledBy(int groupRank, Call call, Sizes sizes) {
        String outgoing = sizes.outgoing().get(groupRank).describe();
        String blocks = call.kind() == OpKind.ALL_TO_ALL
                ? "blocks out " + outgoing + ", in "
                        + sizes.incoming().get(groupRank).describe()
                : "blocks " + outgoing;
        return "rank " + group.members().get(groupRank).rank() + " called "
                + Fingerprint.describe(call.asCalled().sequence(), Fingerprint.of(call), blocks);
    }

    private void allGather(Call call) {
        Blocks blocks = call.blocks(group.size());
        fill(call.input(), slice(call.output(), call, blocks, group.groupRank()));
        for (int rank = 0; rank < group.size(); rank++) {
            MemorySegment block = slice(call.output(), call, blocks, rank);
            step(call, OpKind.BROADCAST, blocks.count(rank), rank, block, block);
        }
    }

    private void reduceScatter(Call call) {
        Blocks blocks = call.blocks(group.size());
        for (int rank = 0; rank < group.size(); rank++) {
            MemorySegment block = slice(call.input(), call, blocks, rank);
            if (rank == group.groupRank()) {
                fill(block, call.output().asSlice(0, block.byteSize()));
                block = call.output();
            }
            step(call, OpKind.REDUCE, blocks.count(rank), rank, block, block);
        }
    }

    private void gather(Call call) {
        Blocks blocks = call.blocks(group.size());
        long stride = blocks.longest() * call.type().sizeBytes();
        boolean isRoot = group.groupRank() == call.root();
        MemorySegment memory = scratch.of(stride * (group.size() + 1));
        MemorySegment gathered = isRoot ? memory.asSlice(stride, stride * group.size()) : MemorySegment.NULL;
        fill(call.input(), memory.asSlice(0, bytes(call, blocks, group.groupRank())));
        step(call, OpKind.GATHER, blocks.longest(), call.root(), memory.asSlice(0, stride), gathered);
        for (int rank = 0; isRoot && rank < group.size(); rank++) {
            fill(gathered.asSlice(rank * stride), slice(call.output(), call, blocks, rank));
        }
    }

    private void scatter(Call call) {
        Blocks blocks = call.blocks(group.size());
        long stride = blocks.longest() * call.type().sizeBytes();
        boolean isRoot = group.groupRank() == call.root();
        MemorySegment memory = scratch.of(stride * (group.size() + 1));
        MemorySegment scattered = isRoot ? memory.asSlice(stride, stride * group.size()) : MemorySegment.NULL;
        for (int rank = 0; isRoot && rank < group.size(); rank++) {
            MemorySegment block = slice(call.input(), call, blocks, rank);
            fill(block, scattered.asSlice(rank * stride, block.byteSize()));
        }
        step(call, OpKind.SCATTER, blocks.longest(), call.root(), scattered, memory.asSlice(0, stride));
        fill(memory, call.output().asSlice(0, bytes(call, blocks, group.groupRank())));
    }

    private void allToAll(Call call, Sizes sizes) {
        int size = group.size();
        long longest = sizes.longest();
        long stride = longest * call.type().sizeBytes();
        MemorySegment memory = scratch.of(2 * stride * size);
        MemorySegment outgoing = memory.asSlice(0, stride * size);
        MemorySegment incoming = memory.asSlice(stride * size, stride * size);
        for (int rank = 0; rank < size; rank++) {
            MemorySegment block = slice(call.input(), call, call.blocks(size), rank);
            fill(block, outgoing.asSlice(rank * stride, block.byteSize()));
        }
        step(call, OpKind.ALL_TO_ALL, longest, 0, outgoing, incoming);
        for (int rank = 0; rank < size; rank++) {
            fill(incoming.asSlice(rank * stride), slice(call.output(), call, call.incoming(size), rank));
        }
    }

    private void step(Call call, OpKind kind, long count, int root, MemorySegment input, MemorySegment output) {
        if (count > 0) {
            ReduceOp op = kind == OpKind.REDUCE ? call.op() : ReduceOp.SUM;
            library.run(call.part(call.sequence(), kind, op, count, root, input, output));
        }
    }

    /** Fills {@code to} with the beginning of {@code from}. */
    private static void fill(MemorySegment from, MemorySegment to) {
        MemorySegment.copy(from, 0, to, 0, to.byteSize());
    }

    private static long bytes(Call call, Blocks blocks, int rank) {
        return blocks.count(rank) * call.type().sizeBytes();
    }

    private static MemorySegment slice(MemorySegment whole, Call call, Blocks blocks, int rank) {
        return whole.asSlice(blocks.offset(rank) * call.type().sizeBytes(), bytes(call, blocks, rank));
    }
}
