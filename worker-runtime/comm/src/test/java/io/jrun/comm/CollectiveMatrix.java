package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongUnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Every operation with every type, reduction and root, compared exactly on integer values that all types represent. The
 * caller chooses the world, and with it the transport and the number of ranks, and the memory of the buffers.
 */
final class CollectiveMatrix {
    /** The memory of the buffers of a run. */
    enum Buffers {
        REGISTERED,
        HEAP,
        NATIVE
    }

    private static final int PERIOD = 7;

    /** Beyond this, reductions differ in nothing but the arithmetic, which the smaller counts have covered... */
    private static final long MANY = 10_000;

    /** ... and so do types of one size. */
    private static final Set<DataType> LIKE_ANOTHER = Set.of(DataType.F16, DataType.U8, DataType.BOOL);

    /** Sizes in floats, among them a number that neither ranks nor segments divide. */
    private static final long MEBIBYTES = 600_011;

    private final ProcessGroup group;
    private final Buffers kind;
    private final Arena arena;
    private final int size;
    private final int rank;
    private final MemorySegment registeredInput;
    private final MemorySegment registeredOutput;

    private CollectiveMatrix(ProcessGroup group, Buffers kind, Arena arena, long maxBlockBytes) {
        this.group = group;
        this.kind = kind;
        this.arena = arena;
        this.size = group.size();
        this.rank = group.groupRank();
        long bytes = kind == Buffers.REGISTERED ? maxBlockBytes * size : 0;
        this.registeredInput = group.allocate(bytes);
        this.registeredOutput = group.allocate(bytes);
    }

    /** The element counts that matter for {@code size} ranks. */
    static List<Long> counts(int size) {
        return new ArrayList<>(new TreeSet<>(List.of(0L, 1L, size - 1L, size + 1L, 1023L, 65537L)));
    }

    /** Runs everything with the default counts. */
    static void run(World world, Buffers kind) {
        run(world.group(), kind, counts(world.size()), List.of(DataType.values()));
    }

    /** Runs everything with {@code counts} and {@code types} on {@code group}. */
    static void run(ProcessGroup group, Buffers kind, List<Long> counts, List<DataType> types) {
        long maxCount = counts.stream().mapToLong(Long::longValue).max().orElse(0);
        try (Arena arena = Arena.ofShared()) {
            CollectiveMatrix matrix = new CollectiveMatrix(group, kind, arena, maxCount * Long.BYTES);
            for (DataType type : types) {
                for (long count : counts) {
                    if (count <= MANY || !LIKE_ANOTHER.contains(type)) {
                        matrix.runAll(new Elements(type), count);
                    }
                }
            }
        }
    }

    /**
     * Runs the operations that several nodes run in pieces, on F32 with one reduction, because more combinations prove
     * nothing new.
     */
    static void runLarge(ProcessGroup group, Buffers kind, long count) {
        Elements elements = new Elements(DataType.F32);
        try (Arena arena = Arena.ofShared()) {
            CollectiveMatrix matrix = new CollectiveMatrix(group, kind, arena, count * Float.BYTES);
            matrix.allReduce(elements, count, ReduceOp.SUM);
            matrix.reduceScatter(elements, count, ReduceOp.SUM);
            matrix.reduce(elements, count, group.size() - 1);
            matrix.reduce(elements, count, 0);
            matrix.broadcast(elements, count, group.size() - 1);
            // Of 2+1 and 4+2 an extra rank, whose column does not reach the other node.
            matrix.broadcast(elements, count, group.size() / 2);
            matrix.reduce(elements, count, group.size() / 2);
            matrix.allGather(elements, count);
            matrix.allGatherV(elements, count, matrix.unevenCounts(count));
            matrix.reduceScatterV(elements, count, matrix.unevenCounts(count));
        }
    }

    /** Runs every operation once, as the tests with real processes do, with a type of each size. */
    static void runOnce(World world, Buffers kind) {
        List<DataType> types = List.of(DataType.BOOL, DataType.BF16, DataType.F32, DataType.I64);
        run(world.group(), kind, List.of(1023L), types);
    }

    /** The same on many elements, and on mebibytes. */
    static void runMuch(World world, Buffers kind) {
        run(world.group(), kind, List.of(65_537L), List.of(DataType.BF16));
        run(world.group(), kind, List.of(MEBIBYTES), List.of(DataType.F32));
    }

    private void runAll(Elements elements, long count) {
        for (ReduceOp op : count > MANY ? List.of(ReduceOp.SUM, ReduceOp.AVG) : List.of(ReduceOp.values())) {
            if (op.supports(elements.type())) {
                allReduce(elements, count, op);
                reduceScatter(elements, count, op);
            }
        }
        int root = (int) (count % size);
        reduce(elements, count, root);
        broadcast(elements, count, root);
        allGather(elements, count);
        gather(elements, count, root);
        scatter(elements, count, root);
        allToAll(elements, count);
        unevenBlocks(elements, count);
        ring(elements, count);
        group.barrier();
    }

    /** Small and different for every rank; repeats after {@link #PERIOD} elements, so that expectations are cheap. */
    private long value(Elements elements, int owner, long i) {
        return elements.exact(1 + (owner * 3L + i) % PERIOD);
    }

    private MemorySegment input(Elements elements, long count) {
        MemorySegment buffer = buffer(registeredInput, elements, count);
        elements.fill(buffer, 0, count, PERIOD, i -> value(elements, rank, i), 1);
        return buffer;
    }

    private MemorySegment output(Elements elements, long count) {
        MemorySegment buffer = buffer(registeredOutput, elements, count);
        elements.fill(buffer, 0, count, 1, _ -> -1, 1);
        return buffer;
    }

    private MemorySegment buffer(MemorySegment registered, Elements elements, long count) {
        long bytes = count * elements.type().sizeBytes();
        return switch (kind) {
            case REGISTERED -> registered.asSlice(0, bytes);
            case HEAP -> elements.heap((int) count);
            case NATIVE -> arena.allocate(bytes, 8);
        };
    }

    private long[] onePeriodReduced(Elements elements, long offset, ReduceOp op) {
        return LongStream.range(offset, offset + PERIOD)
                .map(i -> reduced(elements, i, op))
                .toArray();
    }

    private long reduced(Elements elements, long i, ReduceOp op) {
        return IntStream.range(0, size)
                .mapToLong(p -> value(elements, p, i))
                .reduce((a, b) -> switch (op) {
                    case SUM, AVG -> elements.type() == DataType.BOOL ? a | b : a + b;
                    case PROD -> a * b;
                    case MIN -> Math.min(a, b);
                    case MAX -> Math.max(a, b);
                    case BAND -> a & b;
                    case BOR -> a | b;
                    case BXOR -> a ^ b;
                })
                .orElseThrow();
    }

    /** Compares bit by bit with {@code expected} of the index within the first period, divided by {@code divisor}. */
    private void check(
            Elements elements, MemorySegment actual, long count, LongUnaryOperator expected, int divisor, String what) {
        MemorySegment wanted = elements.heap((int) count);
        elements.fill(wanted, 0, count, PERIOD, expected, divisor);
        check(elements, actual, count, wanted, what);
    }

    private void check(Elements elements, MemorySegment actual, long count, MemorySegment wanted, String what) {
        long bytes = count * elements.type().sizeBytes();
        long at = MemorySegment.mismatch(wanted, 0, bytes, actual, 0, bytes)
                / elements.type().sizeBytes();
        if (at >= 0 && bytes > 0 && !elements.get(wanted, at).equals(elements.get(actual, at))) {
            assertThat(elements.get(actual, at))
                    .as("%s of %d %s in %s memory, rank %d, element %d", what, count, elements.type(), kind, rank, at)
                    .isEqualTo(elements.get(wanted, at));
        }
    }

    private void checkReduced(
            Elements elements, MemorySegment actual, long count, long offset, ReduceOp op, String what) {
        int divisor = op == ReduceOp.AVG ? size : 1;
        long[] expected = onePeriodReduced(elements, offset, op);
        check(elements, actual, count, i -> expected[(int) i], divisor, what + " " + op);
    }

    private void allReduce(Elements elements, long count, ReduceOp op) {
        MemorySegment buffer = input(elements, count);
        group.allReduce(buffer, elements.type(), count, op);
        checkReduced(elements, buffer, count, 0, op, "allReduce");
    }

    private void reduce(Elements elements, long count, int root) {
        MemorySegment buffer = input(elements, count);
        group.reduce(buffer, elements.type(), count, ReduceOp.SUM, root);
        if (rank == root) {
            checkReduced(elements, buffer, count, 0, ReduceOp.SUM, "reduce to " + root);
        } else {
            check(elements, buffer, count, i -> value(elements, rank, i), 1, "what reduce leaves alone");
        }
    }

    private void reduceScatter(Elements elements, long count, ReduceOp op) {
        MemorySegment input = input(elements, count * size);
        MemorySegment output = output(elements, count);
        group.reduceScatter(input, output, elements.type(), count, op);
        checkReduced(elements, output, count, rank * count, op, "reduceScatter");
    }

    private void broadcast(Elements elements, long count, int root) {
        MemorySegment buffer = input(elements, count);
        group.broadcast(buffer, elements.type(), count, root);
        check(elements, buffer, count, i -> value(elements, root, i), 1, "broadcast from " + root);
    }

    private void allGather(Elements elements, long count) {
        MemorySegment output = output(elements, count * size);
        group.allGather(input(elements, count), output, elements.type(), count);
        checkBlocks(elements, output, count, 0, "allGather");
    }

    private void gather(Elements elements, long count, int root) {
        MemorySegment output = output(elements, count * size);
        group.gather(input(elements, count), rank == root ? output : null, elements.type(), count, root);
        if (rank == root) {
            checkBlocks(elements, output, count, 0, "gather to " + root);
        }
    }

    private void scatter(Elements elements, long count, int root) {
        MemorySegment output = output(elements, count);
        MemorySegment input = input(elements, count * size);
        group.scatter(rank == root ? input : null, output, elements.type(), count, root);
        check(elements, output, count, i -> value(elements, root, rank * count + i), 1, "scatter from " + root);
    }

    private void allToAll(Elements elements, long count) {
        MemorySegment output = output(elements, count * size);
        group.allToAll(input(elements, count * size), output, elements.type(), count);
        checkBlocks(elements, output, count, rank * count, "allToAll");
    }

    private void checkBlocks(Elements elements, MemorySegment output, long count, long sourceOffset, String what) {
        MemorySegment wanted = elements.heap((int) count * size);
        for (int owner = 0; owner < size; owner++) {
            int source = owner;
            elements.fill(wanted, owner * count, count, PERIOD, i -> value(elements, source, sourceOffset + i), 1);
        }
        check(elements, output, count * size, wanted, what);
    }

    /** Blocks of a size of their own each, one of them empty, in outputs with room for more than there is. */
    private void unevenBlocks(Elements elements, long count) {
        long[] counts = unevenCounts(count);
        long own = counts[rank];
        int root = (int) (count % size);
        allGatherV(elements, count, counts);
        reduceScatterV(elements, count, counts);

        MemorySegment output = output(elements, count * size);
        group.gatherV(input(elements, own), rank == root ? output : null, elements.type(), root, counts);
        long[] gathered = rank == root ? counts : new long[size];
        checkUneven(elements, output, count, gathered, _ -> 0, "gatherV to " + root);

        long total = LongStream.of(counts).sum();
        long before = LongStream.of(counts).limit(rank).sum();
        output = output(elements, count);
        group.scatterV(rank == root ? input(elements, total) : null, output, elements.type(), root, counts);
        MemorySegment scattered = elements.heap((int) count);
        elements.fill(scattered, 0, own, PERIOD, i -> value(elements, root, before + i), 1);
        elements.fill(scattered, own, count - own, 1, _ -> -1, 1);
        check(elements, output, count, scattered, "scatterV from " + root);

        long[] outgoing = IntStream.range(0, size)
                .mapToLong(to -> counts[(2 * rank + to) % size])
                .toArray();
        long[] incoming = IntStream.range(0, size)
                .mapToLong(from -> counts[(2 * from + rank) % size])
                .toArray();
        output = output(elements, count * size);
        group.allToAllV(input(elements, LongStream.of(outgoing).sum()), outgoing, output, incoming, elements.type());
        LongUnaryOperator start = from -> IntStream.range(0, rank)
                .mapToLong(to -> counts[(int) ((2 * from + to) % size)])
                .sum();
        checkUneven(elements, output, count, incoming, start, "allToAllV");
    }

    private long[] unevenCounts(long count) {
        return IntStream.range(0, size)
                .mapToLong(r -> r == count % size ? 0 : count * (r + 1) / size)
                .toArray();
    }

    private void allGatherV(Elements elements, long count, long[] counts) {
        MemorySegment output = output(elements, count * size);
        group.allGatherV(input(elements, counts[rank]), output, elements.type(), counts);
        checkUneven(elements, output, count, counts, _ -> 0, "allGatherV");
    }

    private void reduceScatterV(Elements elements, long count, long[] counts) {
        long before = LongStream.of(counts).limit(rank).sum();
        MemorySegment output = output(elements, count);
        MemorySegment input = input(elements, LongStream.of(counts).sum());
        group.reduceScatterV(input, output, elements.type(), ReduceOp.SUM, counts);
        long[] sums = onePeriodReduced(elements, before, ReduceOp.SUM);
        MemorySegment reduced = elements.heap((int) count);
        elements.fill(reduced, 0, counts[rank], PERIOD, i -> sums[(int) i], 1);
        elements.fill(reduced, counts[rank], count - counts[rank], 1, _ -> -1, 1);
        check(elements, output, count, reduced, "reduceScatterV");
    }

    /** Checks blocks of {@code counts}, each from {@code start} of its rank on, and that nothing follows them. */
    private void checkUneven(
            Elements elements, MemorySegment output, long count, long[] counts, LongUnaryOperator start, String what) {
        MemorySegment wanted = elements.heap((int) count * size);
        long at = 0;
        for (int owner = 0; owner < size; owner++) {
            int source = owner;
            long first = start.applyAsLong(owner);
            elements.fill(wanted, at, counts[owner], PERIOD, i -> value(elements, source, first + i), 1);
            at += counts[owner];
        }
        elements.fill(wanted, at, count * size - at, 1, _ -> -1, 1);
        check(elements, output, count * size, wanted, what);
    }

    /** Every rank sends to its successor while it receives from its predecessor. */
    private void ring(Elements elements, long count) {
        if (size == 1) {
            return;
        }
        int successor = (rank + 1) % size;
        int predecessor = (rank + size - 1) % size;
        MemorySegment output = output(elements, count);
        Work sent = group.sendAsync(input(elements, count), elements.type(), count, successor);
        group.recv(output, elements.type(), count, predecessor);
        sent.await(Duration.ofSeconds(30));
        check(elements, output, count, i -> value(elements, predecessor, i), 1, "recv from " + predecessor);

        MemorySegment back = output(elements, count);
        group.messages()
                .exchange(List.of(
                        new Transfer.Recv(back, elements.type(), count, Messages.ANY_SOURCE, 7),
                        new Transfer.Send(input(elements, count), elements.type(), count, predecessor, 7)));
        check(elements, back, count, i -> value(elements, successor, i), 1, "exchange with " + successor);
    }
}
