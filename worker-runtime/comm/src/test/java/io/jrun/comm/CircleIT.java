package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Single-threaded ranks that wait for each other fail long before the deadline. */
@Timeout(180)
class CircleIT {
    private static final Duration LATE = Duration.ofSeconds(1);

    private static LocalWorldOptions options(int size, TransportKind transport) {
        return LocalWorldOptions.ofSize(size).withTransport(transport).withTimeout(Duration.ofMinutes(10));
    }

    private static Map<Integer, CommException> failures(
            LocalWorldOptions options, ThrowingConsumer<ProcessGroup> body) {
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        LocalWorld.run(options, world -> {
            ProcessGroup group =
                    world.group().split(0, world.rank(), world.group().options().withLateWarning(LATE));
            try {
                body.accept(group);
            } catch (CommException failure) {
                failures.put(world.rank(), failure);
            }
        });
        return failures;
    }

    private static MemorySegment one() {
        return MemorySegment.ofArray(new int[1]);
    }

    @Test
    void receivesFromEachOtherAreNamedOnEveryRank() {
        Map<Integer, CommException> failures = failures(
                options(3, TransportKind.SHM),
                group -> group.recv(one(), DataType.I32, 1, (group.groupRank() + 1) % group.size()));

        assertThat(failures).hasSize(3).allSatisfy((_, failure) -> {
            assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure)
                    .hasMessageContaining("rank 0 waits for rank 1 in recv #0(i32, 1, from 1) on group of ranks 0-2, ")
                    .hasMessageContaining("rank 1 waits for rank 2 in recv #0(i32, 1, from 2)")
                    .hasMessageContaining("rank 2 waits for rank 0 in recv #0(i32, 1, from 0)");
        });
    }

    /** Rank 0 waits too, but no rank waits for rank 0. */
    @Test
    void aReceiveAndACollectiveThatWaitForEachOtherAreNamed() {
        Map<Integer, CommException> failures = failures(options(3, TransportKind.TCP), group -> {
            if (group.groupRank() == 2) {
                group.recv(one(), DataType.I32, 1, 1);
            }
            group.barrier();
        });

        assertThat(failures)
                .hasSize(3)
                .allSatisfy((_, failure) -> assertThat(failure)
                        .hasMessageContaining("rank 2 waits for rank 1 in recv #0(i32, 1, from 1)")
                        .hasMessageContaining("rank 1 waits for rank 2 in barrier #0")
                        .hasMessageNotContaining("rank 0"));
    }

    /**
     * Rank 0 waits for rank 1, which waits for rank 0 in its main thread, while another of its threads is about to
     * send.
     */
    @Test
    void aRankWithAnotherThreadIsInNoCircle() {
        Map<Integer, CommException> failures = failures(options(2, TransportKind.SHM), group -> {
            if (group.groupRank() == 0) {
                group.recv(one(), DataType.I32, 1, 1);
                group.recv(one(), DataType.I32, 1, 1);
            } else {
                Thread sender = Thread.ofPlatform().start(() -> {
                    group.send(one(), DataType.I32, 1, 0);
                    computeFor(Duration.ofSeconds(6));
                    group.send(one(), DataType.I32, 1, 0);
                });
                group.barrier();
                sender.join();
                return;
            }
            group.barrier();
        });
        assertThat(failures).isEmpty();
    }

    /**
     * Rank 0 waits for rank 1, whose main waits for rank 0, and whose other thread will send something for the first
     * time.
     */
    public static final class HelperSendsLate {
        private HelperSendsLate() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                ProcessGroup group = world.group();
                if (world.rank() == 1) {
                    var _ = Thread.ofPlatform().daemon().start(() -> {
                        computeFor(Duration.ofSeconds(7));
                        group.send(one(), DataType.I32, 1, 0);
                    });
                    group.recv(one(), DataType.I32, 1, 0);
                } else {
                    group.recv(one(), DataType.I32, 1, 1);
                    group.send(one(), DataType.I32, 1, 1);
                }
            }
        }
    }

    /** No rank has another thread. */
    public static final class BothReceive {
        private BothReceive() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                world.group().recv(one(), DataType.I32, 1, 1 - world.rank());
            }
        }
    }

    @Test
    void aProcessWithAThreadThatMaySendIsInNoCircle() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            for (Process process : agent.start(HelperSendsLate.class, List.of())) {
                assertThat(TestAgent.exitCode(process))
                        .as(agent.output(0) + agent.output(1))
                        .isZero();
            }
        }
    }

    @Test
    void aCircleOfSingleThreadedProcessesIsReported() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            for (Process process : agent.start(BothReceive.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(0)).contains("ranks wait for each other in a circle in which no rank sends");
        }
    }

    private static void computeFor(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - end < 0) {
            Thread.onSpinWait();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }
}
