package io.jrun.train.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.local.LocalWorld;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every operation over Gloo against what it must give, on heap and native memory. */
@Timeout(120)
class GlooBackendTest {
    private static final long COUNT = 1027;

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void movesWhatItShould(int ranks) {
        LocalWorld.run(ranks, world -> {
            try (ProcessGroup group = gloo(world);
                    Arena arena = Arena.ofShared()) {
                for (long count : new long[] {0, 1, COUNT}) {
                    for (boolean heap : new boolean[] {true, false}) {
                        moves(group, count, heap, arena);
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"F32", "F64", "I8", "U8", "I32", "I64"})
    void reducesEveryTypeByEveryOperator(DataType type) {
        LocalWorld.run(2, world -> {
            try (ProcessGroup group = gloo(world);
                    Arena arena = Arena.ofShared()) {
                for (ReduceOp op : ReduceOp.values()) {
                    if (op.supports(type)) {
                        reduces(group, type, op, arena);
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @EnumSource(
            value = ReduceOp.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"AVG"})
    void reducesTruthValues(ReduceOp op) {
        LocalWorld.run(2, world -> {
            try (ProcessGroup group = gloo(world)) {
                MemorySegment mine =
                        MemorySegment.ofArray(world.rank() == 0 ? new byte[] {0, 0, 1, 1} : new byte[] {0, 1, 0, 1});
                group.allReduce(mine, DataType.BOOL, 4, op);
                byte[] expected = switch (op) {
                    case SUM, MAX, BOR -> new byte[] {0, 1, 1, 1};
                    case PROD, MIN, BAND -> new byte[] {0, 0, 0, 1};
                    case BXOR, AVG -> new byte[] {0, 1, 1, 0};
                };
                assertThat(mine.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
            }
        });
    }

    @Test
    void reducesHalves() {
        LocalWorld.run(2, world -> {
            try (ProcessGroup group = gloo(world)) {
                short[] half = {Float.floatToFloat16(world.rank() + 1.5f)};
                group.allReduce(MemorySegment.ofArray(half), DataType.F16, 1, ReduceOp.SUM);
                assertThat(Float.float16ToFloat(half[0])).isEqualTo(4f);
                short[] brain = {(short) (Float.floatToIntBits(world.rank() + 1f) >>> 16)};
                group.allReduce(MemorySegment.ofArray(brain), DataType.BF16, 1, ReduceOp.AVG);
                assertThat(Float.intBitsToFloat(brain[0] << 16)).isEqualTo(1.5f);
            }
        });
    }

    private static long sockets() {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(GlooBackendTest::isSocket).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isSocket(Path file) {
        try {
            return Files.readSymbolicLink(file).toString().startsWith("socket:");
        } catch (IOException closed) {
            return false;
        }
    }

    @Test
    void aClosedGroupGivesItsConnectionsBack() {
        LocalWorld.run(2, world -> {
            long before = sockets();
            world.group().barrier();
            for (int turn = 0; turn < 3; turn++) {
                try (ProcessGroup group = gloo(world)) {
                    group.barrier();
                    world.group().barrier();
                    assertThat(sockets()).isGreaterThan(before);
                    world.group().barrier();
                }
                world.group().barrier();
                assertThat(sockets()).isEqualTo(before);
                world.group().barrier();
            }
        });
    }

    @Test
    void splitsOfAGlooGroupAreGlooGroups() {
        LocalWorld.run(4, world -> {
            try (ProcessGroup group = gloo(world);
                    ProcessGroup half = group.split(world.rank() % 2, -world.rank())) {
                assertThat(half.options().backend()).isEqualTo("gloo");
                long[] sum = {world.rank()};
                half.allReduce(MemorySegment.ofArray(sum), DataType.I64, 1, ReduceOp.SUM);
                assertThat(sum[0]).isEqualTo(world.rank() % 2 == 0 ? 2 : 4);
            }
        });
    }

    @Test
    void aMissingRankIsAnErrorInTime() {
        LocalWorld.run(2, world -> {
            try (ProcessGroup first = gloo(world)) {
                first.barrier(); // the first connection of a process may take longer than the timeout below
            }
            try (ProcessGroup group = world.group()
                    .split(
                            0,
                            world.rank(),
                            world.group().options().withBackend("gloo").withTimeout(Duration.ofSeconds(2)))) {
                group.barrier();
                if (world.rank() == 0) {
                    assertThatThrownBy(group::barrier)
                            .isInstanceOfSatisfying(
                                    CommException.class,
                                    e -> assertThat(e.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT))
                            .hasMessageContaining("barrier #1 on group of ranks 0-1")
                            .hasMessageContaining("rank 1");
                }
                world.group().barrier();
            }
        });
    }

    @Test
    void anAbortEndsAWait() {
        LocalWorld.run(2, world -> {
            try (ProcessGroup group = gloo(world)) {
                group.barrier();
                if (world.rank() == 0) {
                    Work waiting = group.barrierAsync();
                    group.abort("enough");
                    assertThatThrownBy(() -> waiting.await(Duration.ofSeconds(20)))
                            .hasMessageContaining("enough");
                }
                world.group().barrier();
            }
        });
    }

    /** A call of a rank that differs from what the others call, and how messages name either. */
    enum Difference {
        COUNT("allReduce #1\\(f32, 9, SUM\\)") {
            @Override
            void call(ProcessGroup group) {
                group.allReduce(floats(9), DataType.F32, 9, ReduceOp.SUM);
            }
        },
        TYPE("allReduce #1\\(i32, 8, SUM\\)") {
            @Override
            void call(ProcessGroup group) {
                group.allReduce(floats(8), DataType.I32, 8, ReduceOp.SUM);
            }
        },
        OPERATOR("allReduce #1\\(f32, 8, MAX\\)") {
            @Override
            void call(ProcessGroup group) {
                group.allReduce(floats(8), DataType.F32, 8, ReduceOp.MAX);
            }
        },
        OPERATION("broadcast #1\\(f32, 8, root 0\\)") {
            @Override
            void call(ProcessGroup group) {
                group.broadcast(floats(8), DataType.F32, 8, 0);
            }
        };

        private final String name;

        Difference(String name) {
            this.name = name;
        }

        abstract void call(ProcessGroup group);
    }

    private static MemorySegment floats(int count) {
        return MemorySegment.ofArray(new float[count]);
    }

    @ParameterizedTest
    @EnumSource(Difference.class)
    void callsThatDifferAreAnErrorThatNamesBoth(Difference difference) {
        String usual = "allReduce #1\\(f32, 8, SUM\\)";
        LocalWorld.run(3, world -> {
            try (ProcessGroup group = gloo(world)) {
                group.barrier();
                assertThatThrownBy(() -> {
                            if (world.rank() == 1) {
                                difference.call(group);
                            } else {
                                group.allReduce(floats(8), DataType.F32, 8, ReduceOp.SUM);
                            }
                        })
                        .isInstanceOfSatisfying(
                                CommException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH))
                        .hasMessageMatching("(?s).*(rank 0 called " + usual + ", rank 1 called " + difference.name
                                + "|rank 1 called " + difference.name + ", rank 2 called " + usual + ").*");
                world.group().barrier();
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void movesBlocksOfAnySizes(int ranks) {
        LocalWorld.run(ranks, world -> {
            try (ProcessGroup group = gloo(world)) {
                for (long[] counts : new long[][] {{3, 0, 5}, {0, 0, 0}, {1, 700, 2}}) {
                    movesUneven(group, Arrays.copyOf(counts, ranks));
                }
            }
        });
    }

    @Test
    void gathersObjects() {
        LocalWorld.run(3, world -> {
            try (ProcessGroup group = gloo(world)) {
                assertThat(group.objects().allGather("x".repeat(world.rank()), Codec.STRING))
                        .containsExactly("", "x", "xx");
            }
        });
    }

    @Test
    void blocksThatDoNotFitAreAnErrorThatNamesThem() {
        LocalWorld.run(2, world -> {
            try (ProcessGroup group = gloo(world)) {
                long[] outgoing = world.rank() == 0 ? new long[] {1, 2} : new long[] {3, 4};
                long[] incoming = world.rank() == 0 ? new long[] {1, 3} : new long[] {5, 4};
                assertThatThrownBy(() -> group.allToAllV(floats(7), outgoing, floats(9), incoming, DataType.F32))
                        .isInstanceOfSatisfying(
                                CommException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH))
                        .hasMessageContaining("rank 0 called allToAll #0(f32, blocks out 1 2, in 1 3),"
                                + " rank 1 called allToAll #0(f32, blocks out 3 4, in 5 4) on group of ranks 0-1");
                world.group().barrier();
            }
        });
    }

    @Test
    void withoutComparisonRanksMeetInTheLibraryOnly() {
        LocalWorld.run(2, world -> {
            GroupOptions options = world.group().options().withBackend("gloo").withCompared(false);
            try (ProcessGroup group = world.group().split(0, world.rank(), options)) {
                long[] data = {world.rank(), 7};
                // A root does not wait for those who only receive: it would if calls were compared first.
                if (world.rank() == 0) {
                    Work sent = group.broadcastAsync(MemorySegment.ofArray(data), DataType.I64, 2, 0);
                    sent.await(Duration.ofSeconds(60));
                    world.group().barrier();
                } else {
                    Work received = group.broadcastAsync(MemorySegment.ofArray(data), DataType.I64, 2, 0);
                    world.group().barrier();
                    received.await(Duration.ofSeconds(60));
                }
                assertThat(data).containsExactly(0, 7);
            }
        });
    }

    private static void movesUneven(ProcessGroup group, long[] counts) {
        int rank = group.groupRank();
        int size = group.size();
        int root = size - 1;
        DataType type = DataType.I64;
        Blocks blocks = Blocks.of(counts);
        long all = blocks.total();
        long mine = counts[rank];
        LongUnaryOperator fromEach = i -> {
            int owner = 0;
            while (blocks.offset(owner + 1) <= i) {
                owner++;
            }
            return value(owner, i - blocks.offset(owner));
        };
        try (Arena arena = Arena.ofShared()) {
            MemorySegment own = buffer(arena, true, mine, i -> value(rank, i));
            MemorySegment gathered = buffer(arena, false, all, i -> -1);
            group.allGatherV(own, gathered, type, counts);
            check("allGatherV", gathered, all, fromEach);

            MemorySegment atRoot = buffer(arena, true, all, i -> -1);
            group.gatherV(own, rank == root ? atRoot : null, type, root, counts);
            check("gatherV", atRoot, all, rank == root ? fromEach : i -> -1);

            MemorySegment block = buffer(arena, true, mine, i -> -1);
            group.scatterV(rank == root ? gathered : null, block, type, root, counts);
            check("scatterV", block, mine, i -> value(rank, i));

            MemorySegment whole = buffer(arena, false, all, i -> 2L * rank + i);
            LongUnaryOperator average = i -> size - 1 + i + blocks.offset(rank);
            group.reduceScatterV(whole.asReadOnly(), block, type, ReduceOp.AVG, counts);
            check("reduceScatterV", block, mine, average);
            MemorySegment inPlace = whole.asSlice(blocks.offset(rank) * Long.BYTES, mine * Long.BYTES);
            group.reduceScatterV(whole, inPlace, type, ReduceOp.AVG, counts);
            check("reduceScatterV in place", inPlace, mine, average);

            long[] outgoing =
                    LongStream.range(0, size).map(peer -> rank + peer % 2).toArray();
            long[] incoming =
                    LongStream.range(0, size).map(peer -> peer + rank % 2).toArray();
            long sent = LongStream.of(outgoing).sum();
            long expected = LongStream.of(incoming).sum();
            MemorySegment received = buffer(arena, true, expected, i -> -1);
            group.allToAllV(buffer(arena, true, sent, i -> rank), outgoing, received, incoming, type);
            Blocks senders = Blocks.of(incoming);
            check(
                    "allToAllV",
                    received,
                    expected,
                    i -> LongStream.range(0, size)
                            .filter(peer -> senders.offset((int) peer + 1) > i)
                            .findFirst()
                            .orElseThrow());
        }
    }

    private static ProcessGroup gloo(World world) {
        return world.group().split(0, world.rank(), world.group().options().withBackend("gloo"));
    }

    /** Element i of what a rank contributes; different for every rank. */
    private static long value(long rank, long i) {
        return rank * 1000 + i % 977;
    }

    private static MemorySegment buffer(Arena arena, boolean heap, long count, LongUnaryOperator element) {
        MemorySegment buffer =
                heap ? MemorySegment.ofArray(new long[(int) count]) : arena.allocate(ValueLayout.JAVA_LONG, count);
        for (long i = 0; i < count; i++) {
            buffer.setAtIndex(ValueLayout.JAVA_LONG, i, element.applyAsLong(i));
        }
        return buffer;
    }

    private static void check(String what, MemorySegment actual, long count, LongUnaryOperator expected) {
        assertThat(actual.asSlice(0, count * Long.BYTES).toArray(ValueLayout.JAVA_LONG))
                .as(what)
                .isEqualTo(LongStream.range(0, count).map(expected).toArray());
    }

    private static void moves(ProcessGroup group, long n, boolean heap, Arena arena) {
        int rank = group.groupRank();
        int size = group.size();
        int root = size - 1;
        DataType type = DataType.I64;
        MemorySegment data = buffer(arena, heap, n, i -> value(rank, i));
        group.broadcast(data, type, n, root);
        check("broadcast", data, n, i -> value(root, i));

        MemorySegment mine = buffer(arena, heap, n, i -> value(rank, i));
        MemorySegment all = buffer(arena, heap, n * size, i -> -1);
        group.allGather(mine, all, type, n);
        check("allGather", all, n * size, i -> value(i / n, i % n));

        MemorySegment gathered = buffer(arena, heap, n * size, i -> -1);
        group.gather(mine, rank == root ? gathered : null, type, n, root);
        check("gather", gathered, n * size, i -> rank == root ? value(i / n, i % n) : -1);

        MemorySegment whole = buffer(arena, heap, n * size, i -> value(rank, i));
        MemorySegment block = buffer(arena, heap, n, i -> -1);
        group.scatter(rank == root ? whole : null, block, type, n, root);
        check("scatter", block, n, i -> value(root, rank * n + i));

        MemorySegment turned = buffer(arena, heap, n * size, i -> -1);
        group.allToAll(whole, turned, type, n);
        check("allToAll", turned, n * size, i -> value(i / n, rank * n + i % n));

        MemorySegment from = buffer(arena, heap, n, i -> -1);
        Work sent = group.sendAsync(mine, type, n, (rank + 1) % size);
        int before = (rank + size - 1) % size;
        group.recv(from, type, n, before);
        sent.await(Duration.ofSeconds(30));
        check("recv", from, n, i -> value(before, i));
        group.barrier();
    }

    private static void reduces(ProcessGroup group, DataType type, ReduceOp op, Arena arena) {
        int rank = group.groupRank();
        int size = group.size();
        MemorySegment whole = typed(arena, type, COUNT * size, i -> small(rank, i));
        LongUnaryOperator expected = i -> folded(op, small(0, i), small(1, i));

        MemorySegment all = copy(arena, whole);
        group.allReduce(all, type, COUNT, op);
        checkTyped("allReduce " + op, all, type, COUNT, expected);

        MemorySegment block = typed(arena, type, COUNT, i -> 0);
        group.reduceScatter(copy(arena, whole), block, type, COUNT, op);
        checkTyped("reduceScatter " + op, block, type, COUNT, i -> expected.applyAsLong(rank * COUNT + i));

        MemorySegment rooted = copy(arena, whole);
        group.reduce(rooted, type, COUNT, op, 1);
        checkTyped("reduce " + op, rooted, type, COUNT, rank == 1 ? expected : i -> small(0, i));

        MemorySegment own = copy(arena, whole);
        MemorySegment ownBlock = own.asSlice(rank * COUNT * type.sizeBytes(), COUNT * type.sizeBytes());
        group.reduceScatter(own, ownBlock, type, COUNT, op);
        checkTyped("in place reduceScatter " + op, ownBlock, type, COUNT, i -> expected.applyAsLong(rank * COUNT + i));
    }

    /** Even sums, so that averages are whole. */
    private static long small(int rank, long i) {
        return 1 + 2L * rank + i % 5;
    }

    private static long folded(ReduceOp op, long a, long b) {
        return switch (op) {
            case SUM -> a + b;
            case AVG -> (a + b) / 2;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
            case PROD -> a * b;
            case BAND -> a & b;
            case BOR -> a | b;
            case BXOR -> a ^ b;
        };
    }

    private static MemorySegment copy(Arena arena, MemorySegment source) {
        return arena.allocate(source.byteSize(), 64).copyFrom(source);
    }

    private static MemorySegment typed(Arena arena, DataType type, long count, LongUnaryOperator element) {
        MemorySegment buffer = arena.allocate(count * type.sizeBytes(), 64);
        for (long i = 0; i < count; i++) {
            long value = element.applyAsLong(i);
            switch (type) {
                case F32 -> buffer.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) value);
                case F64 -> buffer.setAtIndex(ValueLayout.JAVA_DOUBLE, i, (double) value);
                case I8, U8, BOOL -> buffer.set(ValueLayout.JAVA_BYTE, i, (byte) value);
                case I32 -> buffer.setAtIndex(ValueLayout.JAVA_INT, i, (int) value);
                case I64 -> buffer.setAtIndex(ValueLayout.JAVA_LONG, i, value);
                case F16, BF16 -> throw new IllegalArgumentException(type.label());
            }
        }
        return buffer;
    }

    private static void checkTyped(
            String what, MemorySegment actual, DataType type, long count, LongUnaryOperator expected) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment wanted = typed(arena, type, count, expected);
            long at = MemorySegment.mismatch(wanted, 0, wanted.byteSize(), actual, 0, wanted.byteSize());
            assertThat(at)
                    .as(what + " of " + type + ": first byte that differs")
                    .isEqualTo(-1);
        }
    }
}
