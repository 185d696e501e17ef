package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Several connections for each pair of ranks. */
class StripesTest {
    /** Three slices, not all of one length. */
    private static final int COUNT = (int) (3 * Stripes.MIN_SLICE_BYTES / Float.BYTES) + 5;

    private static Call call(long sequence, OpKind kind, MemorySegment buffer) {
        Deadline deadline = Deadline.after(Duration.ofSeconds(30));
        return new Call(sequence, kind, DataType.F32, ReduceOp.SUM, COUNT, 0, buffer, buffer, deadline);
    }

    private static MemorySegment filled(int rank) {
        MemorySegment buffer = Arena.ofAuto().allocate((long) COUNT * Float.BYTES);
        for (int at = 0; at < COUNT; at++) {
            buffer.setAtIndex(ValueLayout.JAVA_FLOAT, at, rank + at % 7);
        }
        return buffer;
    }

    @ParameterizedTest(name = "{0} ranks, {1} connections")
    @CsvSource({"2, 3", "3, 2", "2, 16"})
    void everySliceArrives(int size, int connections) throws Exception {
        TcpOptions options = TcpOptions.DEFAULT.withConnections(connections);
        try (TcpRanks world = TcpRanks.start(Collections.nCopies(size, options))) {
            world.run(rank -> {
                MemorySegment sums = filled(rank.rank());
                rank.backend().run(call(0, OpKind.ALL_REDUCE, sums));
                MemorySegment copies = filled(rank.rank());
                rank.backend().run(call(1, OpKind.BROADCAST, copies));
                MemorySegment reduced = filled(rank.rank());
                rank.backend().run(call(2, OpKind.REDUCE, reduced));
                for (int at = 0; at < COUNT; at++) {
                    int sum = size * (size - 1) / 2 + size * (at % 7);
                    int own = rank.rank() + at % 7;
                    assertElement(sums, at, sum);
                    assertElement(copies, at, at % 7);
                    assertElement(reduced, at, rank.rank() == 0 ? sum : own);
                }
            });
        }
    }

    /** Makes an assertion only for a wrong element: one for each of millions takes most of the time of a test. */
    private static void assertElement(MemorySegment elements, long at, float expected) {
        float found = elements.getAtIndex(ValueLayout.JAVA_FLOAT, at);
        if (found != expected) {
            assertThat(found).as("element %d", at).isEqualTo(expected);
        }
    }

    @ParameterizedTest(name = "{0} ranks, {1} connections")
    @CsvSource({"2, 3", "3, 2"})
    void everySliceOfEveryBlockArrives(int size, int connections) throws Exception {
        TcpOptions options = TcpOptions.DEFAULT.withConnections(connections);
        try (TcpRanks world = TcpRanks.start(Collections.nCopies(size, options))) {
            for (boolean isUneven : List.of(false, true)) {
                Blocks blocks = isUneven
                        ? Blocks.of(LongStream.range(0, size)
                                .map(block -> block == 1 ? 0 : 2L * COUNT + block)
                                .toArray())
                        : Blocks.equal(COUNT, size);
                world.run(rank -> {
                    MemorySegment all = numbered(blocks, rank.rank());
                    MemorySegment own = block(all, blocks, rank.rank());
                    MemorySegment gathered = Arena.ofAuto().allocate(all.byteSize());
                    rank.backend().run(call(isUneven ? 3 : 0, OpKind.ALL_GATHER, blocks, isUneven, own, gathered));
                    MemorySegment reduced = Arena.ofAuto().allocate(own.byteSize());
                    rank.backend().run(call(isUneven ? 4 : 1, OpKind.REDUCE_SCATTER, blocks, isUneven, all, reduced));
                    for (int block = 0; block < size; block++) {
                        assertThat(block(gathered, blocks, block)
                                        .mismatch(block(numbered(blocks, block), blocks, block)))
                                .isEqualTo(-1);
                    }
                    for (long at = 0; at < blocks.count(rank.rank()); at++) {
                        long mine = (blocks.offset(rank.rank()) + at) % 1000;
                        assertElement(reduced, at, (float) (size * mine + size * (size - 1) / 2));
                    }
                    if (!isUneven) {
                        MemorySegment swapped = Arena.ofAuto().allocate(all.byteSize());
                        rank.backend().run(call(2, OpKind.ALL_TO_ALL, blocks, false, all, swapped));
                        for (int block = 0; block < size; block++) {
                            MemorySegment theirs = block(numbered(blocks, block), blocks, rank.rank());
                            assertThat(block(swapped, blocks, block).mismatch(theirs))
                                    .isEqualTo(-1);
                        }
                    }
                });
            }
        }
    }

    private static Call call(
            long sequence, OpKind kind, Blocks blocks, boolean isUneven, MemorySegment input, MemorySegment output) {
        Deadline deadline = Deadline.after(Duration.ofSeconds(30));
        return new Call(
                sequence,
                kind,
                DataType.F32,
                ReduceOp.SUM,
                isUneven ? blocks.total() : blocks.count(0),
                0,
                input,
                output,
                deadline,
                isUneven ? blocks : null,
                null,
                0,
                null);
    }

    /** Each element knows its place and its rank. */
    private static MemorySegment numbered(Blocks blocks, int rank) {
        MemorySegment buffer = Arena.ofAuto().allocate(blocks.total() * Float.BYTES);
        for (long at = 0; at < blocks.total(); at++) {
            buffer.setAtIndex(ValueLayout.JAVA_FLOAT, at, (float) (at % 1000 + rank));
        }
        return buffer;
    }

    private static MemorySegment block(MemorySegment all, Blocks blocks, int block) {
        return all.asSlice(blocks.offset(block) * Float.BYTES, blocks.count(block) * Float.BYTES);
    }

    /**
     * On two nodes with two columns, counted between the sockets: the connections that have carried more than headers.
     */
    @ParameterizedTest(name = "{0}: {1} connections")
    @CsvSource({"ALL_REDUCE, 4", "REDUCE_SCATTER, 4", "ALL_GATHER, 4", "REDUCE, 2", "BROADCAST, 2"})
    void everyPieceOfAColumnUsesAllItsConnections(OpKind kind, int used) throws Exception {
        List<FaultyProxy> proxies = new ArrayList<>();
        long pieceBytes = 2 * 2 * 2 * Stripes.MIN_SLICE_BYTES; // For each connection, column and node.
        int count = (int) (2 * pieceBytes / Integer.BYTES) / (IntCalls.hasBlocks(kind) ? 4 : 1);
        TcpOptions options = TcpOptions.DEFAULT.withConnections(2).withPieceBytes(pieceBytes);
        try (TcpRanks world = TcpRanks.startNodes(List.of(2, 2), options, (_, port) -> {
            FaultyProxy proxy = new FaultyProxy(port, _ -> Map.of());
            proxies.add(proxy);
            return proxy.port();
        })) {
            world.run(rank -> {
                Duration timeout = Duration.ofSeconds(30);
                IntCalls calls = new IntCalls(rank.rank(), rank.size(), timeout, rank.backend()::run);
                calls.run(0, kind, count, 1, false);
            });
            assertThat(proxies.stream().flatMap(proxy -> proxy.passed().stream()))
                    .filteredOn(bytes -> bytes > Stripes.MIN_SLICE_BYTES)
                    .hasSize(used);
        } finally {
            for (FaultyProxy proxy : proxies) {
                proxy.close();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ALL_REDUCE", "REDUCE_SCATTER", "ALL_GATHER", "REDUCE", "BROADCAST"})
    void differentPieceSizesOfNodesAreReported(OpKind kind) throws Exception {
        TcpOptions small = TcpOptions.DEFAULT.withPieceBytes(16 << 10);
        TcpOptions large = TcpOptions.DEFAULT.withPieceBytes(32 << 10);
        List<TcpOptions> options = List.of(small, small, large, large);
        try (TcpRanks world = TcpRanks.startNodes(List.of(2, 2), options, (_, port) -> port)) {
            assertThat(world.outcomes(rank -> {
                        Duration timeout = Duration.ofSeconds(30);
                        IntCalls calls = new IntCalls(rank.rank(), rank.size(), timeout, rank.backend()::run);
                        calls.run(0, kind, 40_000, 1, false);
                        calls.run(1, OpKind.BARRIER, 0, 0, false); // A rank that only sends detects the failure here.
                    }))
                    .allSatisfy(outcome -> {
                        CommException failure = (CommException) outcome.orElseThrow();
                        assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                        assertThat(failure).hasMessageContaining("JRUN_PIECE_BYTES");
                    });
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ALL_REDUCE", "REDUCE_SCATTER", "ALL_GATHER", "REDUCE", "BROADCAST"})
    void differentPieceSizesOfRanksOfOneNodeAreReported(OpKind kind) throws Exception {
        TcpOptions small = TcpOptions.DEFAULT.withPieceBytes(16 << 10);
        TcpOptions large = TcpOptions.DEFAULT.withPieceBytes(32 << 10);
        List<TcpOptions> options = List.of(small, large, small);
        try (TcpRanks world = TcpRanks.startNodes(List.of(2, 1), options, (_, port) -> port)) {
            assertThat(world.outcomes(rank -> {
                        Duration timeout = Duration.ofSeconds(30);
                        IntCalls calls = new IntCalls(rank.rank(), rank.size(), timeout, rank.backend()::run);
                        calls.run(0, kind, 40_000, 1, false);
                        // The other node gets the failure here at the latest.
                        calls.run(1, OpKind.BARRIER, 0, 0, false);
                    }))
                    .allSatisfy(outcome -> {
                        CommException failure = (CommException) outcome.orElseThrow();
                        assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                        assertThat(failure).hasMessageContainingAll("JRUN_PIECE_BYTES", "16384", "32768");
                    });
        }
    }

    /** The first connection is delayed, so that only the end of the other connection can report the failure. */
    @Test
    void theEndOfOneConnectionFailsTheSliceOnTheOther() throws Exception {
        AtomicBoolean isFirstOpen = new AtomicBoolean();
        List<FaultyProxy> proxies = new ArrayList<>();
        List<TcpOptions> options = Collections.nCopies(2, TcpOptions.DEFAULT.withConnections(2));
        try (TcpRanks world = TcpRanks.start(options, false, (_, port) -> {
            FaultyProxy proxy = new FaultyProxy(port, _ -> {
                Fault fault = new Fault(isFirstOpen.get() ? Fault.Kind.RESET : Fault.Kind.SILENT, 100_000, 0);
                return Map.of(Fault.Direction.TO_CALLED, fault, Fault.Direction.TO_CALLER, fault);
            });
            proxies.add(proxy);
            return proxy.port();
        })) {
            world.run(rank -> rank.backend().run(Calls.barrier(0)));
            isFirstOpen.set(true);
            assertThat(world.outcomes(rank -> {
                        Call call = call(1, OpKind.ALL_REDUCE, filled(rank.rank()));
                        try {
                            rank.backend().run(call);
                        } finally {
                            assertThat(call.deadline().passed()).isFalse();
                        }
                    }))
                    .allSatisfy(outcome -> assertThat(((CommException) outcome.orElseThrow()).code())
                            .isEqualTo(ErrorCode.PEER_LOST));
        } finally {
            for (FaultyProxy proxy : proxies) {
                proxy.close();
            }
        }
    }

    @Test
    void differentNumbersOfConnectionsAreReported() throws Exception {
        TcpOptions one = TcpOptions.DEFAULT;
        try (TcpRanks world = TcpRanks.start(List.of(one, one.withConnections(3)))) {
            assertThat(world.outcomes(rank -> rank.backend().run(call(0, OpKind.ALL_REDUCE, filled(rank.rank())))))
                    .allSatisfy(outcome -> {
                        CommException failure = (CommException) outcome.orElseThrow();
                        assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                        assertThat(failure).hasMessageContaining("JRUN_CONNECTIONS");
                    });
        }
    }

    @Test
    void anUnusableNumberIsAnError() {
        assertThatThrownBy(() -> TcpOptions.DEFAULT.withConnections(0))
                .hasMessageContaining("JRUN_CONNECTIONS is 0 (expected 1..16)");
    }
}
