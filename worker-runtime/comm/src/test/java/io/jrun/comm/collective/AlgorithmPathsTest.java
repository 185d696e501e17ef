package io.jrun.comm.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The destinations and sizes of a rank's sends. They distinguish algorithms with equally many bytes per rank, which
 * BytesOnTheWireTest cannot. The sends do not depend on received data, so the test needs only one rank.
 */
class AlgorithmPathsTest {
    private static final int SIZE = 4;

    /** Divisible by the ranks. One chunk is larger than the limit of a direct gather in allReduce. */
    private static final int COUNT = 1 << 20;

    /** Counts sends. Every receive completes at once. */
    private static final class CountingLinks implements PeerLinks {
        private final int rank;
        private final long[] sentTo = new long[SIZE];
        private MemorySegment scratch = MemorySegment.NULL;

        CountingLinks(int rank) {
            this.rank = rank;
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public int size() {
            return SIZE;
        }

        @Override
        public PeerTransfer send(int peer, MemorySegment data) {
            sentTo[peer] += data.byteSize();
            return () -> true;
        }

        @Override
        public PeerTransfer receive(int peer, MemorySegment into) {
            return () -> true;
        }

        @Override
        public void await(PeerTransfer transfer) {}

        @Override
        public MemorySegment scratch(long bytes) {
            if (scratch.byteSize() < bytes) {
                scratch = Arena.ofAuto().allocate(bytes, 64);
            }
            return scratch;
        }
    }

    /** Quarters of the whole that rank 2 of 4 sends to ranks 0, 1, 2 and 3; the root is rank 0. */
    @ParameterizedTest(name = "{0} {1}: {2}")
    @CsvSource({
        "ALL_REDUCE, RING, 0 0 0 6",
        "ALL_REDUCE, DIRECT, 1 1 0 4",
        "ALL_REDUCE, HALVING_DOUBLING, 4 0 0 2",
        "ALL_REDUCE, RECURSIVE_DOUBLING, 4 0 0 4",
        "REDUCE, RING, 1 0 0 3",
        "REDUCE, DIRECT, 2 1 0 1",
        "REDUCE, TREE, 4 0 0 0",
        "REDUCE_SCATTER, RING, 0 0 0 3",
        "REDUCE_SCATTER, DIRECT, 1 1 0 1",
        "ALL_GATHER, RING, 0 0 0 3",
        "ALL_GATHER, DIRECT, 1 1 0 1"
    })
    void aRankSendsToThoseOfTheAlgorithm(OpKind kind, Algorithm algorithm, String quarters) {
        long quarter = (long) COUNT / SIZE * Float.BYTES;
        CountingLinks links = new CountingLinks(2);
        try (Arena arena = Arena.ofConfined()) {
            boolean isOfBlocks = kind == OpKind.REDUCE_SCATTER || kind == OpKind.ALL_GATHER;
            MemorySegment input = arena.allocate((long) COUNT * Float.BYTES, 64);
            MemorySegment output = isOfBlocks ? arena.allocate((long) COUNT * Float.BYTES, 64) : input;
            Deadline deadline = Deadline.after(Duration.ofMinutes(1));
            long count = isOfBlocks ? COUNT / SIZE : COUNT;
            Call call = new Call(0, kind, DataType.F32, ReduceOp.SUM, count, 0, input, output, deadline);
            KernelReduction arithmetic = new KernelReduction(arena, PausePoint.NONE);
            CollectiveAlgorithms.run(links, call, algorithm, arithmetic.bind(call, SIZE));
        }
        List<Long> expected = new ArrayList<>();
        Arrays.stream(quarters.split(" ", -1)).forEach(share -> expected.add(Long.parseLong(share) * quarter));
        assertThat(Arrays.stream(links.sentTo).boxed()).containsExactlyElementsOf(expected);
    }
}
