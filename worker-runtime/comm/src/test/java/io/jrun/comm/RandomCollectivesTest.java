package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CollectiveMatrix.Buffers;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every operation on groups, subgroups, buffers, sizes and distributions of ranks drawn from a seed, on one node and on
 * several. {@code -Djrun.soak=true} runs 200 seeds, {@code -Djrun.seed=N} one seed.
 */
@ExtendWith(StopAfterFailure.class)
class RandomCollectivesTest {
    private static final int SEEDS = 2;
    private static final int SOAK_SEEDS = 200;
    private static final int GROUPS = 3;
    private static final int MAX_RANKS = 6;
    private static final int MAX_NODES = 3;
    private static final int TYPES = 4;
    private static final int MAX_SMALL = 3000;
    private static final int MAX_LARGE = 200_000;

    static LongStream seeds() {
        return Seeds.of(SEEDS, SOAK_SEEDS);
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void drawnCollectivesAreExact(long seed) throws IOException {
        List<Integer> nodes = nodes(new SplittableRandom(seed));
        int ranks = nodes.stream().mapToInt(Integer::intValue).sum();
        AtomicReference<String> runId = new AtomicReference<>("");
        LocalWorldOptions options = LocalWorldOptions.ofNodes(nodes).withTimeout(Duration.ofSeconds(20));
        LocalWorld.run(options, world -> {
            runId.set(world.runId());
            SplittableRandom random = new SplittableRandom(~seed);
            for (int round = 0; round < GROUPS; round++) {
                int colors = 1 + random.nextInt(ranks);
                int turn = random.nextInt(ranks);
                // Ranks are dealt out to the colors and ordered anew in each group.
                int place = (world.rank() + turn) % ranks;
                try (ProcessGroup group = world.group().split(place % colors, -place)) {
                    CollectiveMatrix.run(group, draw(random), counts(random), types(random));
                }
                List<Long> count = List.of((long) random.nextInt(MAX_SMALL));
                CollectiveMatrix.run(world.group(), draw(random), count, types(random));
            }
        });
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(runId.get()));
        }
    }

    /** Ranks by node, two in all at least. */
    private static List<Integer> nodes(SplittableRandom random) {
        int ranks = 2 + random.nextInt(MAX_RANKS - 1);
        List<Integer> nodes = new ArrayList<>();
        for (int left = ranks; left > 0; left -= nodes.getLast()) {
            nodes.add(nodes.size() == MAX_NODES - 1 ? left : 1 + random.nextInt(left));
        }
        return nodes;
    }

    private static Buffers draw(SplittableRandom random) {
        List<Buffers> kinds = List.of(Buffers.values());
        return kinds.get(random.nextInt(kinds.size()));
    }

    private static List<DataType> types(SplittableRandom random) {
        List<DataType> types = List.of(DataType.values());
        return IntStream.range(0, TYPES)
                .mapToObj(_ -> types.get(random.nextInt(types.size())))
                .toList();
    }

    private static List<Long> counts(SplittableRandom random) {
        List<Long> counts = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            counts.add(random.nextLong(MAX_SMALL));
        }
        counts.add(random.nextLong(MAX_LARGE));
        return counts;
    }
}
