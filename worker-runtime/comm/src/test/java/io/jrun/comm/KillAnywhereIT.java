package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.join.LocalCoordinator;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorld.Interference;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.ConnectionCutter;
import io.jrun.comm.tcp.IntCalls;
import io.jrun.comm.tcp.TcpOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * In every algorithm of every operation, over every data plane, one rank dies at each of its pause points in turn. All
 * other ranks report one cause that names the dead rank, and earlier results are exact. Ranks are threads: the threads
 * of the dead rank stay where they are, while its connections end and the agent reports that the rank was killed, in
 * either order. On several nodes also in calls of many pieces, where a rank may use the network and shared memory at
 * once.
 *
 * <p>A sample of places; {@code -Djrun.soak=true}: all.
 */
@Timeout(300)
@ExtendWith(StopAfterFailure.class)
class KillAnywhereIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int[] COUNTS = {100, 20_000};
    private static final long REGISTERED_BYTES = 1 << 20;
    private static final String KILLED = "was killed (exit code 137)";

    /** Three to five. */
    private static final int COUNT_OF_PIECES = 24_000;

    private static final long PIECE_BYTES = 32 << 10;

    private static final List<OpKind> IN_PIECES =
            List.of(OpKind.ALL_REDUCE, OpKind.REDUCE, OpKind.BROADCAST, OpKind.REDUCE_SCATTER, OpKind.ALL_GATHER);

    /** The calls of a run: a barrier, two calls of which the second is interrupted, and a final barrier. */
    private static final int CALLS = 5;

    private static final int STRUCK = 2;
    private static final int STRIDE = 11;
    private static final AtomicInteger DEATHS = new AtomicInteger();
    private static final AtomicInteger DEATHS_ON_THE_NETWORK = new AtomicInteger();

    /** The case of a kill: one algorithm of one operation on one data plane, in registered memory or in the heap. */
    record Subject(LocalWorldOptions world, OpKind kind, Algorithm algorithm, int number) {
        int count() {
            if (isInPieces()) {
                return IntCalls.hasBlocks(kind) ? COUNT_OF_PIECES / 4 : COUNT_OF_PIECES;
            }
            return COUNTS[number % COUNTS.length];
        }

        boolean isInPieces() {
            return world.tcp().pieceBytes().isPresent();
        }

        boolean isRegistered() {
            return number % 3 == 0;
        }

        @Override
        public String toString() {
            return kind.methodName() + " by " + algorithm.label() + " of " + count() + ", " + world.transport() + " "
                    + world.nodeSizes() + (isInPieces() ? " in pieces" : "");
        }
    }

    /** A rank's death at its k-th pause point, and the end of the other ranks. */
    private static final class Death implements Interference {
        private final Subject subject;
        private final int victim;
        private final int turn;
        private final ConnectionCutter switchboard;
        private final CountDownLatch others;
        private final Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        private final AtomicBoolean died = new AtomicBoolean();
        private volatile String runId = "";

        Death(Subject subject, int turn, ConnectionCutter switchboard) {
            this.subject = subject;
            this.turn = turn;
            this.switchboard = switchboard;
            this.victim = (subject.number() + turn) % subject.world().size();
            this.others = new CountDownLatch(subject.world().size() - 1);
        }

        @Override
        public int portBefore(int rank, int port) {
            return switchboard.portBefore(rank, port);
        }

        @Override
        public PausePoint pauseOf(int rank, LocalCoordinator coordinator) {
            String place = subject.kind().methodName() + "#" + STRUCK + ":*@" + turn;
            return rank == victim ? PausePoint.at(place, () -> die(coordinator)) : PausePoint.NONE;
        }

        /** Every thread of the rank that comes to a place from now on stays there. */
        private void die(LocalCoordinator coordinator) {
            if (died.compareAndSet(false, true)) {
                DEATHS.incrementAndGet();
                if (Thread.currentThread().getName().endsWith(" column")) {
                    DEATHS_ON_THE_NETWORK.incrementAndGet();
                }
                if (turn % 2 == 0) {
                    switchboard.cutOff(victim);
                    coordinator.lost(victim, KILLED);
                } else {
                    coordinator.lost(victim, KILLED);
                    switchboard.cutOff(victim);
                }
            }
            try {
                others.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            throw new IllegalStateException("this rank is dead");
        }

        void run(World world) {
            runId = world.runId();
            try {
                program(world);
            } catch (CommException failure) {
                failures.put(world.rank(), failure);
                assertNothingRunsBeside(world.rank());
            } finally {
                if (world.rank() != victim) {
                    others.countDown();
                }
            }
        }

        /** A failed call's buffers are the program's again. */
        private static void assertNothingRunsBeside(int rank) {
            Thread.getAllStackTraces().forEach((thread, stack) -> {
                String name = thread.getName();
                if (name.startsWith("rank-" + rank + " ") && name.endsWith(" column")) {
                    assertThat(stack)
                            .as(name)
                            .noneMatch(frame -> frame.getClassName().endsWith(".InterNodeCalls"));
                }
            });
        }

        private void program(World world) {
            int size = world.size();
            GroupOptions options =
                    world.group().options().withAlgorithm(subject.algorithm().label());
            ProcessGroup group =
                    world.group().newGroup(IntStream.range(0, size).boxed().toList(), options);
            long bytes = subject.isRegistered() ? REGISTERED_BYTES : 0;
            int first = bytes == 0 ? 0 : 1; // The allocation is an operation, too.
            GroupCalls runner = new GroupCalls(group, bytes);
            IntCalls calls = new IntCalls(world.rank(), size, TIMEOUT, runner::run);
            for (int sequence = first; sequence < CALLS; sequence++) {
                OpKind kind = sequence == first || sequence == CALLS - 1 ? OpKind.BARRIER : subject.kind();
                boolean isUneven = IntCalls.hasBlocks(kind) && subject.number() % 2 == 0;
                calls.run(sequence, kind, kind == OpKind.BARRIER ? 0 : subject.count(), size - 1, isUneven);
            }
        }

        void check() {
            String what = subject + ", rank " + victim + " at its place " + turn;
            if (!died.get()) {
                assertThat(failures).as(what).isEmpty();
                return;
            }
            CommException of = failures.remove(victim);
            assertThat(of).as(what).isNotNull();
            assertThat(failures).as(what).hasSize(subject.world().size() - 1);
            assertThat(failures.values().stream().map(CommException::getMessage).distinct())
                    .as(what)
                    .hasSize(1);
            assertThat(failures.values()).as(what).allSatisfy(failure -> {
                assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
                assertThat(failure)
                        .hasMessageContaining("rank " + victim + " (host localhost")
                        .hasMessageMatching("(?s).*[a-zA-Z]+ #\\d.*");
            });
        }
    }

    /** A pause point that no rank reaches would test nothing. */
    @AfterAll
    static void ranksHaveDied() {
        System.out.println("kills anywhere: " + DEATHS + " deaths, " + DEATHS_ON_THE_NETWORK
                + " of them on the network while the rank worked inside its node");
        assertThat(DEATHS.get()).isPositive();
        assertThat(DEATHS_ON_THE_NETWORK.get()).isPositive();
    }

    static Stream<Subject> subjects() {
        List<LocalWorldOptions> worlds = List.of(
                LocalWorldOptions.ofSize(3).withTransport(TransportKind.SHM),
                LocalWorldOptions.ofSize(4).withTransport(TransportKind.TCP),
                LocalWorldOptions.ofNodes(List.of(2, 1)),
                LocalWorldOptions.ofNodes(List.of(2, 2)));
        List<Subject> subjects = new ArrayList<>();
        for (LocalWorldOptions world : worlds) {
            for (OpKind kind : OpKind.values()) {
                if (!kind.isMessage() && !kind.allocates()) {
                    for (Algorithm algorithm : AlgorithmSelector.candidates(kind)) {
                        subjects.add(new Subject(world.withTimeout(TIMEOUT), kind, algorithm, subjects.size()));
                    }
                }
            }
        }
        for (LocalWorldOptions world : worlds) {
            for (OpKind kind : IN_PIECES) {
                if (world.nodeSizes().size() > 1) {
                    LocalWorldOptions inPieces = world.withTcp(TcpOptions.DEFAULT.withPieceBytes(PIECE_BYTES));
                    Algorithm algorithm = AlgorithmSelector.candidates(kind).getFirst();
                    subjects.add(new Subject(inPieces.withTimeout(TIMEOUT), kind, algorithm, subjects.size()));
                }
            }
        }
        return subjects.stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("subjects")
    void theOthersReportOneCause(Subject subject) throws IOException {
        boolean isSoak = Boolean.getBoolean("jrun.soak");
        int turn = 1 + (isSoak ? 0 : (subject.number() + Seeds.offset(STRIDE)) % STRIDE);
        boolean came = true;
        while (came) {
            try (ConnectionCutter switchboard = new ConnectionCutter()) {
                Death death = new Death(subject, turn, switchboard);
                LocalWorld.run(subject.world(), death, death::run);
                death.check();
                Survivors.assertNothingIsLeft(death.runId);
                came = death.died.get();
            }
            turn += isSoak ? 1 : STRIDE;
        }
    }
}
