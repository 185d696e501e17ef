package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Several connections for each pair of ranks. */
class StripesTest {
    /** Three slices, the last longer than the others. */
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
                    assertThat(sums.getAtIndex(ValueLayout.JAVA_FLOAT, at)).isEqualTo(sum);
                    assertThat(copies.getAtIndex(ValueLayout.JAVA_FLOAT, at)).isEqualTo(at % 7);
                    assertThat(reduced.getAtIndex(ValueLayout.JAVA_FLOAT, at)).isEqualTo(rank.rank() == 0 ? sum : own);
                }
            });
        }
    }

    /** The first connection is held up, so that only the other one's end can tell. */
    @Test
    void theEndOfOneConnectionIsToldToTheSliceOnTheOther() throws Exception {
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
    void ranksThatDifferInTheirConnectionsAreTold() throws Exception {
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
