package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.OpenFiles;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Seeds;
import io.jrun.comm.StopAfterFailure;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.tcp.Fault.Direction;
import io.jrun.comm.tcp.TcpRanks.Rank;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ranks, over TCP alone or on several nodes, whose connections all pass through {@link FaultyProxy}s. Under every
 * fault, every call gives the exact result or fails in time with an error that names the operation and a rank, and all
 * resources are released. Without harmful faults every call succeeds.
 *
 * <p>The faults of a rank's k-th incoming connection depend only on the seed. {@code -Djrun.soak=true} runs 1000 seeds,
 * {@code -Djrun.seed=N} one seed.
 */
@ExtendWith(StopAfterFailure.class)
class FaultSimulationIT {
    private static final int SEEDS = 30;
    private static final int SEEDS_OF_NODES = 15;
    private static final int SOAK_SEEDS = 1000;
    private static final List<List<Integer>> NODES = List.of(List.of(2, 1), List.of(2, 2), List.of(1, 2));
    private static final int CALLS = 8;
    private static final int[] COUNTS = {0, 1, 100, 5000, 70_000};

    /** Several of the larger calls are under way at a time. */
    private static final long PIECE_BYTES = 16 << 10;

    private static final OpKind[] KINDS = {
        OpKind.ALL_REDUCE,
        OpKind.REDUCE,
        OpKind.BROADCAST,
        OpKind.ALL_GATHER,
        OpKind.REDUCE_SCATTER,
        OpKind.GATHER,
        OpKind.SCATTER,
        OpKind.ALL_TO_ALL,
        OpKind.BARRIER,
        OpKind.SEND
    };
    private static final Algorithm[] ALGORITHMS = Algorithm.values();
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(1500);

    private static final AtomicInteger FAILED = new AtomicInteger();
    private static final AtomicInteger SUCCEEDED = new AtomicInteger();
    private static final String A_RANK = "(?s).*rank \\d \\(host testhost, pid 400\\d\\).*";

    @BeforeAll
    static void openWhatTheJdkKeeps() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            world.run(rank -> rank.backend().run(Calls.barrier(0)));
        }
    }

    /** Faults that strike nothing, or everything, would test nothing. */
    @AfterAll
    static void bothHaveHappened() {
        System.out.println("fault simulation: " + SUCCEEDED + " seeds without and " + FAILED + " with failures");
        if (Long.getLong("jrun.seed") == null) {
            assertThat(SUCCEEDED.get()).isPositive();
            assertThat(FAILED.get()).isPositive();
        }
    }

    static LongStream seeds() {
        return Seeds.of(SEEDS, SOAK_SEEDS);
    }

    static LongStream seedsOfNodes() {
        return Seeds.of(SEEDS_OF_NODES, SOAK_SEEDS);
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void everyCallIsExactOrFailsInTimeByName(long seed) throws Exception {
        simulate(seed, (random, algorithm, front) -> TcpRanks.start(2 + random.nextInt(3), algorithm, false, front));
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seedsOfNodes")
    void everyCallOnSeveralNodesIsExactOrFailsInTimeByName(long seed) throws Exception {
        simulate(seed, (random, algorithm, front) -> {
            TcpOptions options = TcpOptions.DEFAULT
                    .withSelector(AlgorithmSelector.of(algorithm))
                    .withPieceBytes(PIECE_BYTES);
            return TcpRanks.startNodes(NODES.get(random.nextInt(NODES.size())), options, front);
        });
    }

    /** Starts a world of a shape drawn from the seed. */
    private interface Start {
        TcpRanks start(SplittableRandom random, Optional<String> algorithm, TcpRanks.Front front);
    }

    private static void simulate(long seed, Start start) throws Exception {
        OpenFiles before = OpenFiles.now();
        SplittableRandom random = new SplittableRandom(seed);
        String runId;
        boolean mayHarm = random.nextBoolean();
        List<FaultyProxy> proxies = new ArrayList<>();
        Optional<String> algorithm = random.nextBoolean()
                ? Optional.empty()
                : Optional.of(ALGORITHMS[random.nextInt(ALGORITHMS.length)].label());
        try (TcpRanks world = start.start(random, algorithm, (rank, port) -> {
            FaultyProxy proxy = proxy(seed, rank, port, mayHarm);
            proxies.add(proxy);
            return proxy.port();
        })) {
            runId = world.runId();
            Duration timeout = mayHarm ? SHORT : PATIENT;
            List<Optional<Throwable>> outcomes = world.outcomes(rank -> {
                new Program(seed, rank, timeout).run();
                world.leave(rank.rank()); // While others are still at work.
            });
            assertThat(mayHarm || outcomes.stream().allMatch(Optional::isEmpty))
                    .as("only slow and torn streams, yet %s", outcomes)
                    .isTrue();
            outcomes.stream().flatMap(Optional::stream).forEach(FaultSimulationIT::assertNamed);
            boolean hasFailed = outcomes.stream().anyMatch(Optional::isPresent);
            (hasFailed ? FAILED : SUCCEEDED).incrementAndGet();
        } finally {
            for (FaultyProxy proxy : proxies) {
                proxy.close();
            }
        }
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(runId));
        }
        before.awaitNoMore();
        awaitNoThread("jrun-tcp-setup");
        awaitNoThread(FaultyProxy.THREADS);
    }

    private static FaultyProxy proxy(long seed, int rank, int port, boolean mayHarm) {
        try {
            return new FaultyProxy(port, number -> {
                SplittableRandom random = new SplittableRandom((seed * 31 + rank) * 31 + number);
                return Map.of(
                        Direction.TO_CALLED, Fault.draw(random, Direction.TO_CALLED, mayHarm && random.nextBoolean()),
                        Direction.TO_CALLER, Fault.draw(random, Direction.TO_CALLER, mayHarm && random.nextBoolean()));
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void assertNamed(Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        CommException.class,
                        comm -> assertThat(comm.code())
                                .isIn(ErrorCode.PEER_LOST, ErrorCode.COLLECTIVE_TIMEOUT, ErrorCode.COLLECTIVE_MISMATCH))
                .hasMessageMatching(A_RANK)
                .hasMessageMatching(
                        "(?s).*(allReduce|reduce|broadcast|allGather|reduceScatter|gather|scatter|allToAll|barrier|send|recv) #\\d.*");
    }

    private static void awaitNoThread(String name) throws InterruptedException {
        long end = System.nanoTime() + IntCalls.SLACK.toNanos();
        while (Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith(name))) {
            assertThat(System.nanoTime()).as("a thread %s is left", name).isLessThan(end);
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    /** The calls of one rank, which all ranks draw alike. */
    private static final class Program {
        private final SplittableRandom random;
        private final Rank rank;
        private final int size;
        private final Duration timeout;
        private final IntCalls calls;
        private final Map<Integer, Long> messages = new HashMap<>();
        private int collectives;

        Program(long seed, Rank rank, Duration timeout) {
            this.random = new SplittableRandom(~seed);
            this.rank = rank;
            this.size = rank.size();
            this.timeout = timeout;
            this.calls = new IntCalls(rank.rank(), size, timeout, rank.backend()::run);
        }

        void run() {
            int length = 1 + random.nextInt(CALLS);
            for (int sequence = 0; sequence < length; sequence++) {
                OpKind kind = KINDS[random.nextInt(KINDS.length)];
                int count = kind == OpKind.BARRIER ? 0 : COUNTS[random.nextInt(COUNTS.length)];
                int root = random.nextInt(size);
                if (kind == OpKind.SEND) {
                    message(sequence, count, root, (root + 1 + random.nextInt(size - 1)) % size);
                } else {
                    calls.run(collectives++, kind, count, root, IntCalls.hasBlocks(kind) && random.nextBoolean());
                }
            }
        }

        /** One rank sends a message whose size and tag the receiver does not know in advance. */
        private void message(int turn, int count, int source, int destination) {
            int self = rank.rank();
            if (self != source && self != destination) {
                return;
            }
            long sequence = messages.merge(source * size + destination, 1L, Long::sum) - 1;
            int[] expected = IntStream.range(0, count)
                    .map(i -> IntCalls.value(source, turn, i))
                    .toArray();
            Envelope envelope = new Envelope(turn * 1000 - 3, DataType.I32, count, turn % 2 == 0);
            long start = System.nanoTime();
            try {
                if (self == source) {
                    rank.backend().send(message(OpKind.SEND, sequence, destination, envelope, expected));
                    return;
                }
                int[] received = new int[count];
                Call receive = message(OpKind.RECV, sequence, source, envelope, received);
                assertThat(rank.backend().next(receive)).isEqualTo(envelope);
                rank.backend().receive(receive);
                assertThat(received).isEqualTo(expected);
            } finally {
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                        .as("message #%d", sequence)
                        .isLessThan(timeout.multipliedBy(2).plus(IntCalls.SLACK));
            }
        }

        private Call message(OpKind kind, long sequence, int peer, Envelope envelope, int[] data) {
            MemorySegment memory = MemorySegment.ofArray(data);
            return new Call(
                    sequence,
                    kind,
                    envelope.type(),
                    ReduceOp.SUM,
                    envelope.count(),
                    peer,
                    memory,
                    memory,
                    Deadline.after(timeout),
                    null,
                    null,
                    envelope.label(),
                    null);
        }
    }
}
