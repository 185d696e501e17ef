package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jrun.comm.CollectiveMatrix.Buffers;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The data plane of several nodes, on simulated nodes of this machine: {@code 2+1} is two ranks on one node and one on
 * another.
 */
@ExtendWith(StopAfterFailure.class)
class HierarchicalCollectivesIT {
    private static final int COUNT = 65_537;
    private static final int LARGE = 3_000_017;
    private static final int SEED = 20;

    private static LocalWorldOptions options(String topology) {
        return Plane.of(topology).world().withTimeout(Duration.ofSeconds(20));
    }

    private static LocalWorldOptions inPieces(String topology, long pieceBytes) {
        return options(topology).withTcp(TcpOptions.DEFAULT.withPieceBytes(pieceBytes));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @SampledCases(
            count = 3,
            value = {
                "2+1, HEAP",
                "2+1, REGISTERED",
                "2+2, HEAP",
                "2+2, REGISTERED",
                "3+1, NATIVE",
                "4+2, REGISTERED",
                "1+2, HEAP",
                "1+1+2, REGISTERED",
                "1+2+2, NATIVE"
            })
    void everyOperationIsExact(String topology, Buffers buffers) {
        LocalWorldOptions options = options(topology);
        // On more ranks than cores a call takes a thousand times as long as its arithmetic, which others' tests cover.
        List<DataType> types = List.of(DataType.BF16, DataType.F32, DataType.I64);
        List<Long> counts = List.of(0L, 1L, options.size() - 1L, 1023L, (long) COUNT);
        LocalWorld.run(options, world -> CollectiveMatrix.run(world.group(), buffers, counts, types));
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"2+1", "1+1+2"})
    void everyOperationIsExactOfEveryType(String topology) {
        List<DataType> types = List.of(DataType.values());
        LocalWorld.run(
                options(topology), world -> CollectiveMatrix.run(world.group(), Buffers.HEAP, List.of(1L, 37L), types));
    }

    /** On two nodes, on three nodes, and with separate columns; in one piece and in many pieces. */
    @ParameterizedTest(name = "{0}")
    @SampledCases(
            count = 1,
            value = {"2+1", "3+1", "4+2", "2+1+2"})
    void everyOperationIsExactWithEveryAlgorithm(String topology) {
        LocalWorld.run(inPieces(topology, 16 << 10), world -> {
            for (Algorithm algorithm : Algorithm.values()) {
                GroupOptions forced = world.group().options().withAlgorithm(algorithm.label());
                try (ProcessGroup group = world.group().split(0, world.rank(), forced)) {
                    CollectiveMatrix.run(group, Buffers.HEAP, List.of(1L, 1023L, 40_000L), List.of(DataType.F32));
                }
            }
        });
    }

    /** Several pieces on the network beside the node's work, and a rest that the shards do not divide. */
    @ParameterizedTest(name = "{0}, {1}")
    @SampledCases(
            count = 1,
            value = {"2+2, REGISTERED", "2+1, NATIVE", "4+2, REGISTERED", "1+1+2, HEAP"})
    void largeOperationsAreExact(String topology, Buffers buffers) {
        LocalWorld.run(options(topology), world -> CollectiveMatrix.runLarge(world.group(), buffers, LARGE));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @SampledCases(
            count = 1,
            value = {"2+2, NATIVE", "3+1, REGISTERED"})
    void largeOperationsOfRanksInAnyOrderAreExact(String topology, Buffers buffers) {
        LocalWorld.run(options(topology), world -> {
            try (ProcessGroup interleaved = world.group().split(0, world.localRank())) {
                CollectiveMatrix.runLarge(interleaved, buffers, LARGE);
            }
        });
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"2+2", "3+1"})
    void groupsOfAnyMembersInAnyOrderAreExact(String topology) {
        LocalWorld.run(options(topology), world -> {
            List<DataType> types = List.of(DataType.F32);
            try (ProcessGroup backwards = world.group().split(0, -world.rank())) {
                CollectiveMatrix.run(backwards, Buffers.REGISTERED, List.of(1023L), types);
            }
            try (ProcessGroup onNode = world.group().split(world.nodeRank(), world.rank())) {
                CollectiveMatrix.run(onNode, Buffers.REGISTERED, List.of(1023L), types);
            }
            try (ProcessGroup acrossNodes = world.group().split(world.localRank(), world.rank())) {
                CollectiveMatrix.run(acrossNodes, Buffers.REGISTERED, List.of(1023L), types);
            }
            try (ProcessGroup interleaved = world.group().split(0, world.localRank())) {
                CollectiveMatrix.run(interleaved, Buffers.REGISTERED, List.of(1023L), types);
            }
        });
    }

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"2+2, F32", "2+1, F32", "3+1, BF16", "4+2, F32"})
    void deterministicModeGivesTheBitsOfSharedMemory(String topology, DataType type) {
        LocalWorldOptions nodes = options(topology).withDeterministic(true);
        LocalWorldOptions oneNode = LocalWorldOptions.ofSize(nodes.size()).withDeterministic(true);

        assertThat(average(nodes, type).mismatch(average(oneNode, type))).isEqualTo(-1);
    }

    @Test
    void everyRankGetsTheSameBitsInAnyMode() {
        average(options("3+2"), DataType.F32);
    }

    @ParameterizedTest(name = "rank {0} of 2+2")
    @ValueSource(ints = {0, 1, 2, 3})
    void differentCallsFailOnAllRanks(int deviating) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();

        Throwable thrown = catchThrowable(() -> LocalWorld.run(options("2+2"), world -> {
            MemorySegment buffer = MemorySegment.ofArray(new float[100]);
            try {
                world.group().barrier(); // The barrier may still run on one node when another node fails.
                if (world.rank() == deviating) {
                    world.group().allToAll(buffer, MemorySegment.ofArray(new float[100]), DataType.F32, 25);
                } else {
                    world.group().allReduce(buffer, DataType.F32, 100, ReduceOp.SUM);
                }
            } catch (CommException failure) {
                failures.add(failure);
            }
        }));

        assertThat(thrown).isNull();
        assertThat(failures).hasSize(4).allSatisfy(failure -> {
            assertThat(((CommException) failure).code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure)
                    .hasMessageContaining("called allToAll #1(f32, 25)")
                    .hasMessageContaining("called allReduce #1(f32, 100, SUM)");
        });
    }

    @ParameterizedTest(name = "nodes differ, {0}")
    @ValueSource(strings = {"2+2", "2+1", "1+3"})
    void differentCallsOfTwoNodesFailOnAllRanks(String topology) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        LocalWorldOptions options = options(topology);

        LocalWorld.run(options, world -> {
            MemorySegment buffer = MemorySegment.ofArray(new float[200]);
            try {
                world.group().barrier();
                if (world.nodeRank() == 0) {
                    world.group().allReduce(buffer, DataType.F32, 100, ReduceOp.SUM);
                } else {
                    world.group().allReduce(buffer, DataType.F32, 200, ReduceOp.SUM);
                }
            } catch (CommException failure) {
                failures.add(failure);
            }
        });

        assertThat(failures).hasSize(options.size()).allSatisfy(failure -> {
            assertThat(((CommException) failure).code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure).hasMessageContaining("f32, 100").hasMessageContaining("f32, 200");
        });
    }

    /** The environments of the ranks may differ. */
    @ParameterizedTest(name = "deterministic: {0}")
    @ValueSource(strings = {"1", "3", "0 1", "1 2 3"})
    void ranksThatDisagreeAboutDeterminismGetNoResult(String deterministic) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        List<String> ranks = List.of(deterministic.split(" "));

        LocalWorld.run(options("2+2"), world -> {
            GroupOptions options =
                    world.group().options().withDeterministic(ranks.contains(String.valueOf(world.rank())));
            ProcessGroup group = world.group().newGroup(List.of(0, 1, 2, 3), options);
            try {
                group.allReduce(MemorySegment.ofArray(new float[1000]), DataType.F32, 1000, ReduceOp.SUM);
            } catch (CommException failure) {
                failures.add(failure);
            }
        });

        assertThat(failures).hasSize(4).allSatisfy(failure -> {
            assertThat(((CommException) failure).code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure).hasMessageContaining("allReduce #0(f32, 1000, SUM)");
        });
        assertThat(failures.stream().map(Throwable::getMessage).distinct()).hasSize(1);
    }

    @ParameterizedTest(name = "rank {0} of 2+2 is missing")
    @ValueSource(ints = {0, 3})
    void everybodyNamesTheRankThatIsMissing(int missing) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();

        LocalWorld.run(options("2+2").withTimeout(Duration.ofSeconds(2)), world -> {
            world.group().barrier();
            if (world.rank() == missing) {
                // Stays in its world until the others have failed, as a rank in an endless loop does.
                TestAgent.await("the others fail", () -> failures.size() == 3);
                return;
            }
            try {
                world.group().allReduce(MemorySegment.ofArray(new float[100]), DataType.F32, 100, ReduceOp.SUM);
            } catch (CommException failure) {
                failures.add(failure);
            }
        });

        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure)
                        .hasMessageContaining("allReduce #1(f32, 100, SUM)")
                        .hasMessageContaining("timed out after 2 s: rank " + missing + " (host localhost, pid ")
                        .hasMessageContaining("did not come"));
        assertThat(failures.stream().map(Throwable::getMessage).distinct()).hasSize(1);
    }

    private static MemorySegment average(LocalWorldOptions options, DataType type) {
        List<MemorySegment> results = new CopyOnWriteArrayList<>();
        LocalWorld.run(options, world -> {
            Elements elements = new Elements(type);
            MemorySegment buffer = elements.heap(COUNT);
            Random random = new Random(SEED + world.rank());
            for (int at = 0; at < COUNT; at++) {
                elements.setFloat(buffer, at, (float) (random.nextGaussian() * 1e3));
            }
            world.group().allReduce(buffer, type, COUNT, ReduceOp.AVG);
            results.add(buffer);
        });
        MemorySegment first = results.getFirst();
        assertThat(results)
                .hasSize(options.size())
                .allSatisfy(result -> assertThat(result.mismatch(first)).isEqualTo(-1));
        return first;
    }
}
