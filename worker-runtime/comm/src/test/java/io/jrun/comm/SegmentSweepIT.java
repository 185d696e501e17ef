package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.WorkerPrograms.BarrierOfTwo;
import io.jrun.comm.WorkerPrograms.ReduceForever;
import io.jrun.comm.WorkerPrograms.ReduceWithoutRankOne;
import io.jrun.comm.local.LocalWorld;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Shared memory has a name in two short periods. A rank killed in one of them leaves a file, and the next job removes
 * the file.
 */
@Tag("alone") // any other job sweeps
@Timeout(120)
class SegmentSweepIT {
    private static List<String> filesOf(TestAgent agent) {
        try (var files = Files.list(Path.of("/dev/shm"))) {
            return files.map(Path::toString)
                    .filter(file -> file.contains(agent.runId()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void runAnotherJob() {
        LocalWorld.run(2, world -> world.group().barrier());
    }

    @Test
    void aControlSegmentThatNotAllRanksHaveMappedGoesWithItsJob() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.SHM)) {
            List<Process> processes = agent.start(ReduceWithoutRankOne.class, List.of());
            TestAgent.await(
                    "the control segment is there", () -> !filesOf(agent).isEmpty());
            assertSweptOnlyOnceKilled(agent, processes, "control");
        }
    }

    @Test
    void aRegionThatNotAllRanksHaveMappedGoesWithItsJob() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.SHM)) {
            List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=0:allocate#0:map"));
            agent.awaitOutput(0, "jrun-test: paused at allocate#0:map");
            assertSweptOnlyOnceKilled(agent, processes, "region0-0");
        }
    }

    /**
     * The survivors of a rank killed in such a period remove its files, in the first period of the region and in the
     * last.
     */
    @ParameterizedTest
    @ValueSource(strings = {"map", "mapped"})
    void theSurvivorsRemoveThePartOfOneKilledWhileARegionIsMapped(String phase) throws Exception {
        try (TestAgent agent = new TestAgent(3, TransportKind.SHM)) {
            String place = "allocate#0:" + phase;
            List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:" + place));
            agent.awaitOutput(1, "jrun-test: paused at " + place);
            assertThat(filesOf(agent)).anyMatch(file -> file.endsWith("region0-1"));
            processes.get(1).destroyForcibly();
            for (Process process : processes) {
                assertThat(TestAgent.exitCode(process)).isNotZero();
            }
            assertThat(filesOf(agent)).as("once all have ended").isEmpty();
        }
    }

    /** Every user can write to /dev/shm. A file of another user fails no job and is not removed. */
    @Test
    void filesOfAnotherUserAndOtherKindsOfFilesHarmNoJob(@TempDir Path folder) throws Exception {
        assumeTrue(OtherUser.canBeTaken(), "not root: files of another user cannot be made here");
        OtherUser user = OtherUser.of(folder);
        String prefix = "/dev/shm/jrun-" + user.id() + "-";
        Path target = Files.createFile(folder.resolve("target"));
        List<Path> kept = List.of(
                Files.createFile(Path.of(prefix + "file")),
                Files.createSymbolicLink(Path.of(prefix + "link"), target),
                Files.createDirectory(Path.of(prefix + "folder")),
                fifo(Path.of(prefix + "fifo")),
                fifo(Path.of(prefix + "own-fifo")));
        Path leftover = Files.createFile(Path.of(prefix + "leftover"));
        try {
            Files.setPosixFilePermissions(kept.getFirst(), PosixFilePermissions.fromString("rw-rw-rw-"));
            for (Path own : List.of(target, kept.getLast(), leftover)) {
                user.give(own);
            }
            assertThat(user.run(BarrierOfTwo.class)).contains("both were there");
            assertThat(kept).allMatch(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS));
            assertThat(leftover).doesNotExist();
        } finally {
            Files.deleteIfExists(leftover);
            for (Path file : kept) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static Path fifo(Path path) throws Exception {
        Process mkfifo = new ProcessBuilder("mkfifo", "-m", "666", path.toString()).start();
        assertThat(TestAgent.exitCode(mkfifo)).isZero();
        return path;
    }

    /** Another user sees the name of one segment. The names that follow must not be guessed from the first. */
    @Test
    void theNameOfOneSegmentDoesNotRevealTheNext() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.SHM)) {
            List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=0:allocate#0:map"));
            agent.awaitOutput(0, "jrun-test: paused at allocate#0:map");
            String region = filesOf(agent).stream()
                    .filter(file -> file.endsWith("region0-0"))
                    .findFirst()
                    .orElseThrow();
            String guess = region.replaceFirst("region0-0$", "region0-1");
            TestAgent.await(
                    "rank 1 has made its part",
                    () -> filesOf(agent).stream().anyMatch(file -> file.endsWith("region0-1")));
            assertThat(filesOf(agent)).contains(region).doesNotContain(guess);
            processes.forEach(Process::destroyForcibly);
        }
        runAnotherJob();
    }

    private static void assertSweptOnlyOnceKilled(TestAgent agent, List<Process> processes, String segment)
            throws InterruptedException {
        runAnotherJob();
        assertThat(filesOf(agent)).as("while the job lives").anyMatch(file -> file.endsWith(segment));
        for (Process process : processes) {
            process.destroyForcibly();
            assertThat(TestAgent.exitCode(process)).isNotZero();
        }
        assertThat(filesOf(agent)).as("once it is killed").anyMatch(file -> file.endsWith(segment));
        runAnotherJob();
        assertThat(filesOf(agent)).as("after the next job's start").isEmpty();
    }
}
