package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.OpenFiles;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Seeds;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.tcp.Fault.Direction;
import io.jrun.comm.tcp.TcpRanks.Rank;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ranks whose connections all pass through {@link FaultyProxy}s. Whatever those do, every call gives the exact result or fails
 * in time, naming the operation and a rank, and nothing is left afterwards; without harmful faults every call succeeds.
 *
 * <p>The faults of a rank's k-th incoming connection depend on the seed alone. {@code -Djrun.soak=true}: 1000 seeds;
 * {@code -Djrun.seed=N}: that one.
 */
class FaultSimulationTest {
    private static final int SEEDS = 100;
    private static final int SOAK_SEEDS = 1000;
    private static final int CALLS = 8;
    private static final int[] COUNTS = {0, 1, 100, 5000, 70_000};
    private static final OpKind[] KINDS = {
        OpKind.ALL_REDUCE,
        OpKind.BROADCAST,
        OpKind.ALL_GATHER,
        OpKind.REDUCE_SCATTER,
        OpKind.ALL_TO_ALL,
        OpKind.BARRIER,
        OpKind.SEND
    };
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(1500);

    /** Between a deadline and its exception on a loaded machine; a hang is longer. */
    private static final Duration SLACK = Duration.ofSeconds(10);

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

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void everyCallIsExactOrFailsInTimeByName(long seed) throws Exception {
        OpenFiles before = OpenFiles.now();
        SplittableRandom random = new SplittableRandom(seed);
        int size = 2 + random.nextInt(3);
        boolean mayHarm = random.nextBoolean();
        List<FaultyProxy> proxies = new ArrayList<>();
        try (TcpRanks world = TcpRanks.start(size, (rank, port) -> {
            FaultyProxy proxy = proxy(seed, rank, port, mayHarm);
            proxies.add(proxy);
            return proxy.port();
        })) {
            Duration timeout = mayHarm ? SHORT : PATIENT;
            List<Optional<Throwable>> outcomes = world.outcomes(rank -> {
                new Program(seed, rank, timeout).run();
                world.leave(rank.rank()); // While others are still at work.
            });
            assertThat(mayHarm || outcomes.stream().allMatch(Optional::isEmpty))
                    .as("only slow and torn streams, yet %s", outcomes)
                    .isTrue();
            outcomes.stream().flatMap(Optional::stream).forEach(FaultSimulationTest::assertNamed);
            boolean hasFailed = outcomes.stream().anyMatch(Optional::isPresent);
            (hasFailed ? FAILED : SUCCEEDED).incrementAndGet();
        } finally {
            for (FaultyProxy proxy : proxies) {
                proxy.close();
            }
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
                        "(?s).*(allReduce|broadcast|allGather|reduceScatter|allToAll|barrier|send|recv) #\\d.*");
    }

    private static void awaitNoThread(String name) throws InterruptedException {
        long end = System.nanoTime() + SLACK.toNanos();
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
        private final Map<Integer, Long> messages = new HashMap<>();
        private int collectives;

        Program(long seed, Rank rank, Duration timeout) {
            this.random = new SplittableRandom(~seed);
            this.rank = rank;
            this.size = rank.size();
            this.timeout = timeout;
        }

        void run() {
            int calls = 1 + random.nextInt(CALLS);
            for (int sequence = 0; sequence < calls; sequence++) {
                OpKind kind = KINDS[random.nextInt(KINDS.length)];
                int count = kind == OpKind.BARRIER ? 0 : COUNTS[random.nextInt(COUNTS.length)];
                int root = random.nextInt(size);
                if (kind == OpKind.SEND) {
                    message(sequence, count, root, (root + 1 + random.nextInt(size - 1)) % size);
                } else {
                    call(collectives++, kind, count, root);
                }
            }
        }

        /** One rank tells another what no other knows: the latter learns its size and tag from the message. */
        private void message(int turn, int count, int source, int destination) {
            int self = rank.rank();
            if (self != source && self != destination) {
                return;
            }
            long sequence = messages.merge(source * size + destination, 1L, Long::sum) - 1;
            int[] expected =
                    IntStream.range(0, count).map(i -> value(source, turn, i)).toArray();
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
                        .isLessThan(timeout.multipliedBy(2).plus(SLACK));
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

        private void call(int sequence, OpKind kind, int count, int root) {
            boolean hasBlocks = kind == OpKind.ALL_GATHER || kind == OpKind.REDUCE_SCATTER || kind == OpKind.ALL_TO_ALL;
            boolean isUneven = hasBlocks && random.nextBoolean();
            int self = rank.rank();
            Blocks outgoing = blocks(self, sequence, kind, count, isUneven);
            boolean inPlace = kind == OpKind.ALL_REDUCE || kind == OpKind.BROADCAST;
            boolean takesAll = kind == OpKind.REDUCE_SCATTER || kind == OpKind.ALL_TO_ALL;
            boolean givesAll = kind == OpKind.ALL_GATHER || kind == OpKind.ALL_TO_ALL;
            long own = hasBlocks ? outgoing.count(self) : count;
            int[] input = IntStream.range(0, (int) (takesAll ? outgoing.total() : own))
                    .map(i -> value(self, sequence, i))
                    .toArray();
            int[] output = inPlace ? input : new int[(int) (givesAll ? outgoing.total() : own)];
            boolean ofEachRank = isUneven && kind == OpKind.ALL_TO_ALL;
            long start = System.nanoTime();
            try {
                rank.backend()
                        .run(new Call(
                                sequence,
                                kind,
                                DataType.I32,
                                ReduceOp.SUM,
                                ofEachRank ? 0 : isUneven ? outgoing.total() : count,
                                kind.hasRoot() ? root : 0,
                                MemorySegment.ofArray(input),
                                MemorySegment.ofArray(output),
                                Deadline.after(timeout),
                                isUneven ? outgoing : null,
                                ofEachRank ? outgoing : null,
                                0,
                                null));
            } finally {
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                        .as("%s #%d", kind, sequence)
                        .isLessThan(timeout.plus(SLACK));
            }
            int[] expected = IntStream.range(0, output.length)
                    .map(i -> switch (kind) {
                        case ALL_REDUCE -> sum(sequence, i);
                        case BROADCAST -> value(root, sequence, i);
                        case REDUCE_SCATTER -> sum(sequence, (int) outgoing.offset(self) + i);
                        case ALL_GATHER, ALL_TO_ALL -> gathered(sequence, kind, count, isUneven, i);
                        default -> throw new IllegalArgumentException(kind + " gives nothing");
                    })
                    .toArray();
            assertThat(Arrays.mismatch(output, expected))
                    .as("first wrong element of %s #%d of %d", kind, sequence, count)
                    .isEqualTo(-1);
        }

        /** Equal ones, or 0, count, 2 count... elements; of an all-to-all, what comes in is divided as what goes out. */
        private Blocks blocks(int owner, int sequence, OpKind kind, int count, boolean isUneven) {
            int turn = kind == OpKind.ALL_TO_ALL ? owner : 0;
            return isUneven
                    ? Blocks.of(IntStream.range(0, size)
                            .mapToLong(block -> (long) (block + turn + sequence) % size * count)
                            .toArray())
                    : Blocks.equal(count, size);
        }

        /** Element i of everybody's blocks. */
        private int gathered(int sequence, OpKind kind, int count, boolean isUneven, int i) {
            Blocks incoming = blocks(rank.rank(), sequence, kind, count, isUneven);
            int owner = 0;
            while (i >= incoming.offset(owner + 1)) {
                owner++;
            }
            long first = kind == OpKind.ALL_TO_ALL
                    ? blocks(owner, sequence, kind, count, isUneven).offset(rank.rank())
                    : 0;
            return value(owner, sequence, (int) (first + i - incoming.offset(owner)));
        }

        private static int value(int rank, int sequence, int i) {
            return (rank + 1) * 1_000_003 + sequence * 101 + i * 7;
        }

        private int sum(int sequence, int i) {
            return IntStream.range(0, size)
                    .map(each -> value(each, sequence, i))
                    .sum();
        }
    }
}
