package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.EverythingForever;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process of three is killed at a random moment of random collectives: the others end, and report one cause that names it.
 * Two seeds, with {@code -Djrun.soak=true} 100; {@code -Djrun.seed=N}: that one.
 */
@Timeout(600)
class RandomKillsTest {
    private static final int SIZE = 3;
    private static final Pattern MESSAGE =
            Pattern.compile("\"(io\\.jrun\\.comm\\.CommException: (?:[^\"\\\\]|\\\\.)*+)\"");

    static LongStream seeds() {
        return Seeds.of(2, 100);
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void theOthersReportOneCause(long seed) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        TransportKind transport = seed % 2 == 0 ? TransportKind.TCP : TransportKind.SHM;
        int victim = random.nextInt(SIZE);
        String runId;
        try (TestAgent agent = new TestAgent(SIZE, transport)) {
            runId = agent.runId();
            List<Process> processes = agent.start(EverythingForever.class, List.of(), Long.toString(seed));
            for (int rank = 0; rank < SIZE; rank++) {
                agent.awaitOutput(rank, "has begun");
            }
            LockSupport.parkNanos(random.nextLong(TimeUnit.MILLISECONDS.toNanos(300)));
            processes.get(victim).destroyForcibly();

            List<String> causes = new ArrayList<>();
            for (int rank = 0; rank < SIZE; rank++) {
                if (rank != victim) {
                    assertThat(TestAgent.exitCode(processes.get(rank))).isEqualTo(1);
                    causes.add(cause(agent.directory().resolve("rank-" + rank + ".json")));
                }
            }
            assertThat(causes.stream().distinct()).as(transport + " " + causes).hasSize(1);
            assertThat(causes.getFirst())
                    .contains("rank " + victim + " (host testhost, pid "
                            + processes.get(victim).pid() + ")")
                    .contains(" #");
        }
        assertNothingIsLeft(runId);
    }

    private static String cause(Path record) throws IOException {
        String json = Files.readString(record);
        Matcher matcher = MESSAGE.matcher(json);
        assertThat(matcher.find()).as(json).isTrue();
        return matcher.group(1);
    }

    private static void assertNothingIsLeft(String runId) throws IOException {
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(runId));
        }
    }
}
