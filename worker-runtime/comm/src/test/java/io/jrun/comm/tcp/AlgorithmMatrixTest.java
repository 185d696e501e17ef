package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.Elements;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.StopAfterFailure;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.tcp.TcpRanks.Rank;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every operation with every algorithm and world size, on integers that every type represents exactly. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(StopAfterFailure.class)
class AlgorithmMatrixTest {
    private static final int HASH_PRIME = 7919;

    /** After so many elements the values repeat. */
    private static final int PERIOD = 14;

    @ParameterizedTest
    @CsvSource({
        "2, ''",
        "3, ''",
        "4, ''",
        "5, ''",
        "2, ring",
        "3, ring",
        "4, ring",
        "5, ring",
        "2, halving-doubling",
        "3, halving-doubling",
        "4, halving-doubling",
        "5, halving-doubling",
        "2, recursive-doubling",
        "3, recursive-doubling",
        "4, recursive-doubling",
        "5, recursive-doubling",
        "2, tree",
        "3, tree",
        "4, tree",
        "5, tree",
        "2, chain",
        "3, chain",
        "4, chain",
        "5, chain",
        "2, direct",
        "3, direct",
        "4, direct",
        "5, direct"
    })
    void everyOperationIsExact(int size, String algorithm) throws Exception {
        try (TcpRanks world = TcpRanks.start(size, Optional.of(algorithm), false)) {
            world.run(rank -> new Script(rank).runAll());
        }
    }

    @ParameterizedTest
    @CsvSource({"2", "3", "5"})
    void everyOperationIsExactInDeterministicMode(int size) throws Exception {
        try (TcpRanks world = TcpRanks.start(size, Optional.empty(), true)) {
            world.run(rank -> new Script(rank).runAll());
        }
    }

    /** The program of each rank: all operations in one order, on one backend, with a check of every result. */
    private static final class Script {
        private final Rank rank;
        private final int size;
        private long sequence;

        Script(Rank rank) {
            this.rank = rank;
            this.size = rank.size();
        }

        void runAll() {
            for (long count : List.of(0L, 1L, size - 1L, size + 1L, 1023L, 65537L)) {
                // The matrix of process groups covers types and operators; here it is the algorithms that differ.
                for (DataType type :
                        count > 2000 ? List.of(DataType.F32) : List.of(DataType.F32, DataType.BF16, DataType.I64)) {
                    try (Arena arena = Arena.ofConfined()) {
                        boolean heap = count % 2 == 1 && type.isFloat();
                        runMoves(arena, type, count, heap);
                        runUneven(arena, type, count, heap);
                        runReductions(arena, type, count, heap);
                    }
                }
            }
        }

        private void runReductions(Arena arena, DataType type, long count, boolean heap) {
            for (ReduceOp op : count > 2000 ? List.of(ReduceOp.AVG) : List.of(ReduceOp.values())) {
                boolean isExact = type != DataType.BF16 || op != ReduceOp.PROD;
                if (!isExact || !op.supports(type)) {
                    continue;
                }
                MemorySegment buffer = filled(arena, type, count, rank.rank(), heap);
                run(OpKind.ALL_REDUCE, type, op, count, 0, buffer, buffer);
                checkReduced("allReduce " + op, type, op, buffer, count, 0);

                int root = (int) (sequence % size);
                buffer = filled(arena, type, count, rank.rank(), heap);
                run(OpKind.REDUCE, type, op, count, root, buffer, buffer);
                if (rank.rank() == root) {
                    checkReduced("reduce " + op, type, op, buffer, count, 0);
                } else {
                    check("reduce " + op, type, buffer, count, at -> value(rank.rank(), at));
                }

                MemorySegment input = filled(arena, type, count * size, rank.rank(), heap);
                MemorySegment output = filled(arena, type, count, -1, heap);
                run(OpKind.REDUCE_SCATTER, type, op, count, 0, input, output);
                checkReduced("reduceScatter " + op, type, op, output, count, rank.rank() * count);
                check("reduceScatter input", type, input, count * size, at -> value(rank.rank(), at));

                long bytes = count * type.sizeBytes();
                MemorySegment own = input.asSlice(rank.rank() * bytes, bytes);
                run(OpKind.REDUCE_SCATTER, type, op, count, 0, input, own);
                checkReduced("reduceScatter in place " + op, type, op, own, count, rank.rank() * count);
            }
        }

        private void runMoves(Arena arena, DataType type, long count, boolean heap) {
            int self = rank.rank();
            int root = (int) (sequence % size);
            MemorySegment buffer = filled(arena, type, count, self, heap);
            run(OpKind.BROADCAST, type, ReduceOp.SUM, count, root, buffer, buffer);
            check("broadcast", type, buffer, count, at -> value(root, at));

            MemorySegment input = filled(arena, type, count, self, heap);
            MemorySegment output = filled(arena, type, count * size, -1, heap);
            run(OpKind.ALL_GATHER, type, ReduceOp.SUM, count, 0, input, output);
            checkBlocks("allGather", type, output, count, 0);

            MemorySegment gathered = self == root ? filled(arena, type, count * size, -1, heap) : MemorySegment.NULL;
            run(OpKind.GATHER, type, ReduceOp.SUM, count, root, input, gathered);
            if (self == root) {
                checkBlocks("gather", type, gathered, count, 0);
            }

            MemorySegment whole = self == root ? filled(arena, type, count * size, root, heap) : MemorySegment.NULL;
            MemorySegment own = filled(arena, type, count, -1, heap);
            run(OpKind.SCATTER, type, ReduceOp.SUM, count, root, whole, own);
            check("scatter", type, own, count, at -> value(root, self * count + at));

            MemorySegment outgoing = filled(arena, type, count * size, self, heap);
            run(OpKind.ALL_TO_ALL, type, ReduceOp.SUM, count, 0, outgoing, output);
            checkBlocks("allToAll", type, output, count, self * count);

            run(OpKind.BARRIER, type, ReduceOp.SUM, 0, 0, MemorySegment.NULL, MemorySegment.NULL);
        }

        /** Blocks of 0, count, 2 count... elements, the empty one at another rank each time. */
        private void runUneven(Arena arena, DataType type, long count, boolean heap) {
            int self = rank.rank();
            int root = (int) (sequence % size);
            Blocks blocks = Blocks.of(IntStream.range(0, size)
                    .mapToLong(block -> (block + root) % size * count)
                    .toArray());
            long total = blocks.total();
            long own = blocks.count(self);
            MemorySegment input = filled(arena, type, own, self, heap);
            for (OpKind kind : List.of(OpKind.ALL_GATHER, OpKind.GATHER)) {
                boolean receives = kind == OpKind.ALL_GATHER || self == root;
                MemorySegment output = receives ? filled(arena, type, total, -1, heap) : MemorySegment.NULL;
                run(uneven(kind, type, kind == OpKind.GATHER ? root : 0, input, output, blocks));
                for (int owner = 0; owner < size && receives; owner++) {
                    int source = owner;
                    long offset = blocks.offset(owner) * type.sizeBytes();
                    MemorySegment block = output.asSlice(offset, blocks.count(owner) * type.sizeBytes());
                    check(kind + " of " + blocks.describe(), type, block, blocks.count(owner), at -> value(source, at));
                }
            }
            MemorySegment whole = self == root ? filled(arena, type, total, root, heap) : MemorySegment.NULL;
            MemorySegment block = filled(arena, type, own, -1, heap);
            run(uneven(OpKind.SCATTER, type, root, whole, block, blocks));
            check("uneven scatter", type, block, own, at -> value(root, blocks.offset(self) + at));

            run(uneven(OpKind.REDUCE_SCATTER, type, 0, filled(arena, type, total, self, heap), block, blocks));
            checkReduced("uneven reduceScatter", type, ReduceOp.SUM, block, own, blocks.offset(self));
        }

        private Call uneven(
                OpKind kind, DataType type, int root, MemorySegment input, MemorySegment output, Blocks blocks) {
            return new Call(
                    sequence++,
                    kind,
                    type,
                    ReduceOp.SUM,
                    blocks.total(),
                    root,
                    input,
                    output,
                    Deadline.after(Calls.TIMEOUT),
                    blocks,
                    null,
                    0,
                    null);
        }

        private void run(Call call) {
            rank.backend().run(call);
        }

        private void run(
                OpKind kind,
                DataType type,
                ReduceOp op,
                long count,
                int root,
                MemorySegment input,
                MemorySegment output) {
            Deadline deadline = Deadline.after(Calls.TIMEOUT);
            rank.backend().run(new Call(sequence++, kind, type, op, count, root, input, output, deadline));
        }

        private long reduced(ReduceOp op, long at) {
            LongBinaryOperator fold = switch (op) {
                case SUM, AVG -> Long::sum;
                case MIN -> Math::min;
                case MAX -> Math::max;
                case PROD -> (a, b) -> a * b;
                case BAND -> (a, b) -> a & b;
                case BOR -> (a, b) -> a | b;
                case BXOR -> (a, b) -> a ^ b;
            };
            long result = value(0, at);
            for (int from = 1; from < size; from++) {
                result = fold.applyAsLong(result, value(from, at));
            }
            return result;
        }

        // Small, of both signs, never 0, different for neighbouring ranks and places; 99 marks what must be
        // overwritten.
        private static long value(int rank, long at) {
            if (rank < 0) {
                return 99;
            }
            long size = 1 + (at * HASH_PRIME + rank * 3L) % 7;
            return (at + rank) % 2 == 0 ? size : -size;
        }

        private static MemorySegment filled(Arena arena, DataType type, long count, int rank, boolean heap) {
            Elements elements = new Elements(type);
            MemorySegment memory =
                    heap ? elements.heap(Math.toIntExact(count)) : arena.allocate(count * type.sizeBytes(), 64);
            elements.fill(memory, 0, count, PERIOD, at -> value(rank, at), 1);
            return memory;
        }

        // Sums and products of such values are exact in every type, and so is what a division rounds to.
        private void checkReduced(
                String what, DataType type, ReduceOp op, MemorySegment memory, long count, long offset) {
            check(what, type, memory, count, at -> reduced(op, offset + at), op == ReduceOp.AVG ? size : 1);
        }

        private void checkBlocks(String what, DataType type, MemorySegment memory, long count, long sourceOffset) {
            for (int owner = 0; owner < size; owner++) {
                int source = owner;
                long bytes = count * type.sizeBytes();
                MemorySegment block = memory.asSlice(owner * bytes, bytes);
                check(what + " from " + owner, type, block, count, at -> value(source, sourceOffset + at));
            }
        }

        private void check(String what, DataType type, MemorySegment memory, long count, LongUnaryOperator expected) {
            check(what, type, memory, count, expected, 1);
        }

        private void check(
                String what, DataType type, MemorySegment memory, long count, LongUnaryOperator expected, int divisor) {
            Elements elements = new Elements(type);
            MemorySegment wanted = elements.heap(Math.toIntExact(count));
            elements.fill(wanted, 0, count, PERIOD, expected, divisor);
            long bytes = count * type.sizeBytes();
            long different = MemorySegment.mismatch(wanted, 0, bytes, memory, 0, bytes);
            if (different >= 0) {
                long at = different / type.sizeBytes();
                assertThat(elements.get(memory, at))
                        .as("%s of %d %s on rank %d of %d, element %d", what, count, type, rank.rank(), size, at)
                        .isEqualTo(elements.get(wanted, at));
            }
        }
    }
}
