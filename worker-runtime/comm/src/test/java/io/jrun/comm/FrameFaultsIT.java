package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorld.Interference;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.Fault;
import io.jrun.comm.tcp.Fault.Direction;
import io.jrun.comm.tcp.Fault.Kind;
import io.jrun.comm.tcp.FaultyProxy;
import io.jrun.comm.tcp.IntCalls;
import io.jrun.comm.tcp.TcpOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every algorithm of every operation, while one frame between two ranks is dropped, duplicated, swapped with the next,
 * truncated, or the last complete frame; over TCP alone, and on several nodes. Results are exact, and all failing ranks
 * report the same cause, which names the operation and a rank. Reports of failures arrive.
 *
 * <p>95 seeds cover every algorithm with every fault once, at a frame that the seed chooses. A run takes 38 seeds, with
 * every fault. {@code -Djrun.soak=true} runs 1000 seeds, {@code -Djrun.seed=N} one seed.
 */
@Timeout(60)
@ExtendWith(StopAfterFailure.class)
class FrameFaultsIT {
    private static final int CASES = 95;
    private static final int SEEDS = 38;

    /** Apart from each other by a number that has no divisor in common with the cases: from every fault as many. */
    private static final int SEED_STEP = 7;

    private static final int SOAK_SEEDS = 1000;
    private static final int CALLS = 3;
    private static final int MAX_FRAMES = 5;
    private static final int[] COUNTS = {1, 100, 5000, 70_000};

    /** On several nodes, of the larger calls several are under way at a time. */
    private static final long PIECE_BYTES = 16 << 10;

    private static final Duration TIMEOUT = Duration.ofMillis(800);

    private static final List<Kind> FAULTS =
            Arrays.stream(Kind.values()).filter(Kind::isOfFrames).toList();

    /** One algorithm of one operation. */
    private record Subject(OpKind kind, Algorithm algorithm) {}

    private static final List<Subject> SUBJECTS = Arrays.stream(OpKind.values())
            .filter(kind -> !kind.isMessage() && !kind.allocates())
            .flatMap(kind -> AlgorithmSelector.candidates(kind).stream().map(algorithm -> new Subject(kind, algorithm)))
            .toList();

    private static final Map<Kind, int[]> STRUCK_AND_FAILED = new EnumMap<>(Kind.class);

    static LongStream seeds() {
        assertThat(SUBJECTS.size() * FAULTS.size()).isEqualTo(CASES);
        boolean all = Boolean.getBoolean("jrun.soak") || Long.getLong("jrun.seed") != null;
        LongStream seeds = Seeds.of(SEEDS, SOAK_SEEDS);
        return all ? seeds : seeds.map(seed -> seed * SEED_STEP);
    }

    @AfterAll
    static void everyFaultHasStruckAndIsNoticed() {
        STRUCK_AND_FAILED.forEach((kind, counts) ->
                System.out.println("frame faults: " + kind + " struck " + counts[0] + " seeds, failed " + counts[1]));
        if (Long.getLong("jrun.seed") == null) {
            assertThat(STRUCK_AND_FAILED.keySet()).containsAll(FAULTS);
            assertThat(STRUCK_AND_FAILED.values())
                    .allSatisfy(counts -> assertThat(counts[1]).isPositive());
        }
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void everyRankIsExactOrReportsTheOneCause(long seed) throws IOException {
        Subject subject = SUBJECTS.get((int) (seed % SUBJECTS.size()));
        Kind kind = FAULTS.get((int) (seed / SUBJECTS.size() % FAULTS.size()));
        SplittableRandom random = new SplittableRandom(seed);
        LocalWorldOptions world = world(random);
        int struck =
                1 + random.nextInt(world.size() - 1); // If both call each other, the lower rank's connection stands.
        Fault fault = new Fault(kind, random.nextInt(MAX_FRAMES), 0);
        Direction direction = random.nextBoolean() ? Direction.TO_CALLED : Direction.TO_CALLER;
        String what = subject + " on " + world + ", " + fault + ' ' + direction + " of rank " + struck;
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        try (Proxies proxies = new Proxies(struck, Map.of(direction, fault))) {
            LocalWorld.run(world, proxies, rank -> {
                try {
                    program(new SplittableRandom(~seed), rank, subject);
                } catch (CommException failure) {
                    failures.put(rank.rank(), failure);
                }
            });
            count(kind, proxies.struckFrames() > 0, !failures.isEmpty());
        }
        if (!failures.isEmpty()) {
            assertOneCause(what, failures.values());
        }
    }

    /** Two to five ranks over TCP alone, or three or four on two nodes. */
    private static LocalWorldOptions world(SplittableRandom random) {
        return random.nextBoolean()
                ? LocalWorldOptions.ofSize(2 + random.nextInt(4)).withTransport(TransportKind.TCP)
                : LocalWorldOptions.ofNodes(List.of(2, 1 + random.nextInt(2)))
                        .withTcp(TcpOptions.DEFAULT.withPieceBytes(PIECE_BYTES));
    }

    /** The proxies in front of the ranks' listeners. One of them injects the fault. */
    private static final class Proxies implements Interference, AutoCloseable {
        private final int struck;
        private final Map<Direction, Fault> faults;
        private final Map<Integer, FaultyProxy> proxies = new ConcurrentHashMap<>();

        Proxies(int struck, Map<Direction, Fault> faults) {
            this.struck = struck;
            this.faults = faults;
        }

        @Override
        public int portBefore(int rank, int port) {
            try {
                FaultyProxy proxy = new FaultyProxy(port, _ -> rank == struck ? faults : Map.of());
                proxies.put(rank, proxy);
                return proxy.port();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        int struckFrames() {
            return Objects.requireNonNull(proxies.get(struck)).struckFrames();
        }

        @Override
        public void close() throws IOException {
            for (FaultyProxy proxy : proxies.values()) {
                proxy.close();
            }
        }
    }

    /** All ranks draw the same cases. */
    private static void program(SplittableRandom random, World world, Subject subject) {
        int size = world.size();
        GroupOptions options = world.group()
                .options()
                .withAlgorithm(subject.algorithm().label())
                .withTimeout(TIMEOUT);
        ProcessGroup group =
                world.group().newGroup(IntStream.range(0, size).boxed().toList(), options);
        GroupCalls runner = new GroupCalls(group, 0);
        IntCalls calls = new IntCalls(world.rank(), size, TIMEOUT, runner::run);
        OpKind kind = subject.kind();
        for (int sequence = 0; sequence < CALLS; sequence++) {
            int count = kind == OpKind.BARRIER ? 0 : COUNTS[random.nextInt(COUNTS.length)];
            calls.run(sequence, kind, count, random.nextInt(size), IntCalls.hasBlocks(kind) && random.nextBoolean());
        }
        calls.run(CALLS, OpKind.BARRIER, 0, 0, false);
    }

    private static void assertOneCause(String what, Collection<CommException> failures) {
        assertThat(failures.stream().map(CommException::getMessage).distinct())
                .as(what)
                .hasSize(1);
        assertThat(failures)
                .as(what)
                .allSatisfy(failure -> assertThat(failure.code())
                        .isIn(ErrorCode.PEER_LOST, ErrorCode.COLLECTIVE_TIMEOUT, ErrorCode.COLLECTIVE_MISMATCH))
                .first(InstanceOfAssertFactories.THROWABLE)
                .hasMessageMatching("(?s).*rank \\d.*")
                .hasMessageMatching("(?s).*[a-zA-Z]+ #\\d.*");
    }

    private static void count(Kind kind, boolean hasStruck, boolean hasFailed) {
        int[] counts = STRUCK_AND_FAILED.computeIfAbsent(kind, _ -> new int[2]);
        counts[0] += hasStruck ? 1 : 0;
        counts[1] += hasFailed ? 1 : 0;
    }
}
