package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * One rank causes a failure of the group. All ranks report one cause, independent of the rank that finds it, although
 * each rank closes its world as soon as it has failed, and may find another cause itself.
 */
@Timeout(180)
class SameCauseIT {
    private static final int SMALL = 60;
    private static final int LARGE = 120_000;

    /** The action of rank 1 in place of its part in the second call. */
    enum Trouble {
        CALLS_SOMETHING_ELSE(ErrorCode.COLLECTIVE_MISMATCH),
        LEAVES(ErrorCode.PEER_LOST),
        ABORTS(ErrorCode.ABORTED);

        private final ErrorCode code;

        Trouble(ErrorCode code) {
            this.code = code;
        }
    }

    /** Collectives, on {@code count} elements of all blocks together. */
    enum Collective {
        BROADCAST,
        ALL_REDUCE,
        REDUCE,
        ALL_GATHER,
        REDUCE_SCATTER,
        GATHER,
        SCATTER,
        ALL_TO_ALL,
        BARRIER;

        void run(ProcessGroup group, int count) {
            MemorySegment all = MemorySegment.ofArray(new float[count]);
            MemorySegment other = MemorySegment.ofArray(new float[count]);
            int block = count / group.size();
            int root = group.size() - 1;
            switch (this) {
                case BROADCAST -> group.broadcast(all, DataType.F32, count, root);
                case ALL_REDUCE -> group.allReduce(all, DataType.F32, count, ReduceOp.SUM);
                case REDUCE -> group.reduce(all, DataType.F32, count, ReduceOp.SUM, root);
                case ALL_GATHER -> group.allGather(other, all, DataType.F32, block);
                case REDUCE_SCATTER -> group.reduceScatter(all, other, DataType.F32, block, ReduceOp.SUM);
                case GATHER -> group.gather(other, all, DataType.F32, block, root);
                case SCATTER -> group.scatter(all, other, DataType.F32, block, root);
                case ALL_TO_ALL -> group.allToAll(all, other, DataType.F32, block);
                case BARRIER -> group.barrier();
            }
        }

        private Collective another() {
            return this == ALL_REDUCE ? ALL_GATHER : ALL_REDUCE;
        }
    }

    private static List<LocalWorldOptions> planes() {
        return List.of(
                LocalWorldOptions.ofSize(3).withTransport(TransportKind.SHM),
                LocalWorldOptions.ofSize(4).withTransport(TransportKind.TCP),
                LocalWorldOptions.ofNodes(List.of(2, 1)),
                LocalWorldOptions.ofNodes(List.of(2, 2)));
    }

    @ParameterizedTest
    @EnumSource
    void everyRankReportsIt(Collective collective) {
        for (LocalWorldOptions plane : planes()) {
            for (Trouble trouble : Trouble.values()) {
                int count = (collective.name().length() + trouble.name().length()) % 2 == 0 ? SMALL : LARGE;
                String what = collective + " of " + count + ", " + trouble + ", " + plane;
                Map<Integer, CommException> failures = failures(plane, collective, trouble, count);
                assertThat(failures)
                        .as(what)
                        .hasSize(trouble == Trouble.CALLS_SOMETHING_ELSE ? plane.size() : plane.size() - 1);
                assertThat(failures.values().stream().map(CommException::code).distinct())
                        .as(what)
                        .containsExactly(trouble.code);
                assertThat(failures.values().stream().map(SameCauseIT::cause).distinct())
                        .as(what)
                        .hasSize(1);
            }
        }
    }

    private static Map<Integer, CommException> failures(
            LocalWorldOptions plane, Collective collective, Trouble trouble, int count) {
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        LocalWorld.run(plane.withTimeout(Duration.ofSeconds(60)), world -> {
            try {
                collective.run(world.group(), count);
                if (world.rank() == 1) {
                    switch (trouble) {
                        case CALLS_SOMETHING_ELSE -> collective.another().run(world.group(), count);
                        case LEAVES -> {
                            return;
                        }
                        case ABORTS -> {
                            world.group().abort("loss is NaN");
                            return;
                        }
                    }
                }
                while (true) { // A root may have sent all it has and gone on.
                    collective.run(world.group(), count);
                }
            } catch (CommException failure) {
                failures.put(world.rank(), failure);
            }
        });
        return failures;
    }

    /** All other ranks reach their deadlines at the same moment, each in a wait for another rank. */
    @ParameterizedTest(name = "{0} on {1}")
    @CsvSource({"ALL_REDUCE, 0", "ALL_REDUCE, 1", "REDUCE, 1", "ALL_GATHER, 2", "ALL_REDUCE, 3"})
    void deadlinesThatPassTogetherAreOneCause(Collective collective, int plane) {
        LocalWorldOptions options = planes().get(plane).withTimeout(Duration.ofMillis(1500));
        CountDownLatch failed = new CountDownLatch(options.size() - 1);
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        LocalWorld.run(options, world -> {
            world.group().withTimeout(Duration.ofSeconds(60)).barrier(); // The barrier makes the connections.
            if (world.rank() == 1) {
                failed.await();
                return;
            }
            try {
                while (true) {
                    collective.run(world.group(), SMALL);
                }
            } catch (CommException failure) {
                failures.put(world.rank(), failure);
                failed.countDown();
            }
        });
        assertThat(failures.values().stream().map(SameCauseIT::cause).distinct())
                .hasSize(1);
        assertThat(failures)
                .hasSize(options.size() - 1)
                .allSatisfy((_, failure) -> assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT));
    }

    /** A rank whose own program gives up when another has done so, and which calls something only then. */
    @Test
    void aCauseThatIsKnownBeforeACallIsSettledToo() {
        CountDownLatch aborted = new CountDownLatch(1);
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        LocalWorld.run(LocalWorldOptions.ofSize(2).withTransport(TransportKind.SHM), world -> {
            world.group().barrier();
            if (world.rank() == 0) {
                world.group().abort("loss is NaN");
                aborted.countDown();
            } else {
                aborted.await();
                world.group().abort("rank 0 gives up");
            }
            failures.put(
                    world.rank(),
                    catchThrowableOfType(
                            CommException.class, () -> world.group().barrier()));
        });
        assertThat(failures)
                .hasSize(2)
                .allSatisfy((_, failure) -> assertThat(failure)
                        .hasMessageContaining("was aborted by rank 0 ")
                        .hasMessageContaining("loss is NaN"));
    }

    /** The cause without the operation that the rank was in, which abort's messages begin with. */
    private static String cause(CommException failure) {
        return Arrays.asList(String.valueOf(failure.getMessage()).split(" was given up: ", 2))
                .getLast();
    }
}
