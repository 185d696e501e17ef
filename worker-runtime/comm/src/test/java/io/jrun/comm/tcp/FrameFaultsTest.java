package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Seeds;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.tcp.Fault.Direction;
import io.jrun.comm.tcp.Fault.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every algorithm of every operation, while one frame between two ranks is dropped, doubled, swapped with the next, cut short,
 * or the last that comes whole: what a rank computes is exact, and if one fails, all know the same cause, which names the
 * operation and a rank. What ranks tell each other about failures arrives.
 *
 * <p>95 seeds are every algorithm with every fault once, at a frame that the seed draws. {@code -Djrun.soak=true}: 1000 seeds;
 * {@code -Djrun.seed=N}: that one.
 */
@Timeout(60)
class FrameFaultsTest {
    private static final int SEEDS = 95;
    private static final int SOAK_SEEDS = 1000;
    private static final int CALLS = 3;
    private static final int MAX_FRAMES = 5;
    private static final int[] COUNTS = {1, 100, 5000, 70_000};
    private static final Duration TIMEOUT = Duration.ofMillis(800);

    /** How long a rank listens to the others before it names the cause that it knows; all answer unless they get no core. */
    private static final Duration PATIENCE = Duration.ofMillis(890);

    private static final List<Kind> FAULTS =
            Arrays.stream(Kind.values()).filter(Kind::isOfFrames).toList();

    /** One algorithm of one operation. */
    private record Subject(OpKind kind, Algorithm algorithm) {}

    private static final List<Subject> SUBJECTS = Arrays.stream(OpKind.values())
            .filter(kind -> !kind.isMessage() && kind != OpKind.ALLOCATE)
            .flatMap(kind -> AlgorithmSelector.candidates(kind).stream().map(algorithm -> new Subject(kind, algorithm)))
            .toList();

    private static final Map<Kind, int[]> STRUCK_AND_FAILED = new EnumMap<>(Kind.class);

    static LongStream seeds() {
        assertThat(SUBJECTS.size() * FAULTS.size()).isEqualTo(SEEDS);
        return Seeds.of(SEEDS, SOAK_SEEDS);
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
    void everyRankIsExactOrAllKnowOneCause(long seed) throws Exception {
        Subject subject = SUBJECTS.get((int) (seed % SUBJECTS.size()));
        Kind kind = FAULTS.get((int) (seed / SUBJECTS.size() % FAULTS.size()));
        SplittableRandom random = new SplittableRandom(seed);
        int size = 2 + random.nextInt(4);
        int struck = 1 + random.nextInt(size - 1); // If both call each other, the lower rank's connection stands.
        Fault fault = new Fault(kind, random.nextInt(MAX_FRAMES), 0);
        Direction direction = random.nextBoolean() ? Direction.TO_CALLED : Direction.TO_CALLER;
        String what = subject + " of " + size + ", " + fault + ' ' + direction + " of rank " + struck;
        List<FaultyProxy> proxies = new ArrayList<>();
        AtomicLong settling = new AtomicLong();
        Optional<String> algorithm = Optional.of(subject.algorithm().label());
        try (TcpRanks world = TcpRanks.start(size, algorithm, false, (rank, port) -> {
            FaultyProxy proxy = proxy(port, rank == struck ? Map.of(direction, fault) : Map.of());
            proxies.add(proxy);
            return proxy.port();
        })) {
            List<Optional<Throwable>> outcomes = world.outcomes(rank -> {
                try {
                    program(new SplittableRandom(~seed), new IntCalls(rank, TIMEOUT), subject.kind(), size);
                } catch (CommException failure) {
                    long start = System.nanoTime();
                    CommException settled = rank.backend().settle(failure);
                    settling.accumulateAndGet(System.nanoTime() - start, Math::max);
                    throw settled;
                }
            });
            List<Throwable> failures =
                    outcomes.stream().flatMap(Optional::stream).toList();
            count(kind, proxies.get(struck).struckFrames() > 0, !failures.isEmpty());
            if (settling.get() > PATIENCE.toNanos()) {
                System.out.println("seed " + seed + ": too slow a machine for ranks to hear each other out");
            } else if (!failures.isEmpty()) {
                assertOneCause(what, world, size, failures);
            }
        } finally {
            for (FaultyProxy proxy : proxies) {
                proxy.close();
            }
        }
    }

    /** Which all ranks draw alike. */
    private static void program(SplittableRandom random, IntCalls calls, OpKind kind, int size) {
        for (int sequence = 0; sequence < CALLS; sequence++) {
            int count = kind == OpKind.BARRIER ? 0 : COUNTS[random.nextInt(COUNTS.length)];
            calls.run(sequence, kind, count, random.nextInt(size), IntCalls.hasBlocks(kind) && random.nextBoolean());
        }
        calls.run(CALLS, OpKind.BARRIER, 0, 0, false);
    }

    private static void assertOneCause(String what, TcpRanks world, int size, List<Throwable> failures) {
        assertThat(failures).as(what).allSatisfy(failure -> assertThat(failure).isInstanceOf(CommException.class));
        List<CommException> causes = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            // Also of a rank that had done its part when the others failed.
            assertThat(world.rank(rank).health().cause())
                    .as(what + ": rank " + rank)
                    .isNotNull();
            causes.add(world.rank(rank).health().settle());
        }
        assertThat(causes.stream().map(CommException::getMessage).distinct())
                .as(what)
                .hasSize(1);
        assertThat(causes.getFirst().code())
                .as(what)
                .isIn(ErrorCode.PEER_LOST, ErrorCode.COLLECTIVE_TIMEOUT, ErrorCode.COLLECTIVE_MISMATCH);
        assertThat(causes.getFirst())
                .as(what)
                .hasMessageMatching("(?s).*rank \\d \\(host testhost, pid 400\\d\\).*")
                .hasMessageMatching("(?s).*[a-zA-Z]+ #\\d.*");
    }

    private static void count(Kind kind, boolean hasStruck, boolean hasFailed) {
        int[] counts = STRUCK_AND_FAILED.computeIfAbsent(kind, _ -> new int[2]);
        counts[0] += hasStruck ? 1 : 0;
        counts[1] += hasFailed ? 1 : 0;
    }

    private static FaultyProxy proxy(int port, Map<Direction, Fault> faults) {
        try {
            return new FaultyProxy(port, _ -> faults);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
