package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.EveryOperation;
import io.jrun.comm.WorkerPrograms.FailEarly;
import io.jrun.comm.WorkerPrograms.FailInThread;
import io.jrun.comm.WorkerPrograms.LeaveEarly;
import io.jrun.comm.WorkerPrograms.ReduceForever;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class WorkerProcessTest {
    private static final Duration SOON = Duration.ofSeconds(60);

    @AfterEach
    void nothingIsLeftInSharedMemory() throws IOException {
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(name -> name.contains("jrun-test-agent"));
        }
    }

    private static int exitCode(Process process) throws InterruptedException {
        assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS))
                .as("process ends")
                .isTrue();
        return process.exitValue();
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("deadline").isLessThan(end);
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    private static boolean has(TestAgent agent, int rank, String text) {
        try {
            return agent.output(rank).contains(text);
        } catch (IOException e) {
            return false;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void everyOperationIsExactBetweenProcesses(int size) throws Exception {
        try (TestAgent agent = new TestAgent(size)) {
            for (Process process : agent.start(EveryOperation.class, List.of())) {
                assertThat(exitCode(process)).as(agent.output(0)).isZero();
            }
            assertThat(agent.output(size - 1)).contains("rank " + (size - 1) + " of " + size + " did everything");
        }
    }

    @Test
    void aKilledRankIsNamedWithTheOperationItsPeerWaitedIn() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#7:reduce"));
            await(() -> has(agent, 1, "jrun-test: paused at allReduce#7:reduce"));
            processes.get(1).destroyForcibly();
            assertThat(exitCode(processes.get(0))).isEqualTo(1);
            assertThat(agent.output(0))
                    .contains("rank 1 (host testhost, pid " + processes.get(1).pid() + ") was killed")
                    .contains("while rank 0 (host testhost")
                    .contains("waited for it in allReduce #7(f32, 262144, SUM)");
            String record = Files.readString(agent.directory().resolve("rank-0.json"));
            assertThat(record).startsWith("{\"message\":{\"message\":\"io.jrun.comm.CommException: rank 1");
        }
    }

    @Test
    void aRankThatReturnsFromMainIsNamedAtOnce() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes = agent.start(LeaveEarly.class, List.of());
            assertThat(exitCode(processes.get(1))).isZero();
            assertThat(exitCode(processes.get(0))).isEqualTo(1);
            assertThat(agent.output(0))
                    .contains("returned from main while rank 0")
                    .contains("barrier #1");
        }
    }

    @Test
    void aRankWhoseExceptionClosesItsWorldHasFailedAndNotLeft() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            for (Process process : agent.start(FailEarly.class, List.of())) {
                assertThat(exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(1)).contains("out of luck");
            assertThat(agent.output(0)).contains("(exit code 1) while rank 0").doesNotContain("returned from main");
        }
    }

    @Test
    void anAbortEndsWhatIsPending() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#2:enter"));
            await(() -> has(agent, 1, "jrun-test: paused at allReduce#2:enter"));
            agent.abort("rank 9 failed");
            assertThat(exitCode(processes.get(0))).isEqualTo(1);
            assertThat(agent.output(0)).contains("the job is stopping: rank 9 failed");
        }
    }

    @Test
    void workersEndWithTheirAgent() throws Exception {
        TestAgent agent = new TestAgent(2);
        List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#2:enter"));
        try (agent) {
            await(() -> has(agent, 1, "jrun-test: paused at allReduce#2:enter"));
            agent.hangUp();
            for (Process process : processes) {
                assertThat(exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(0)).contains("jrun: rank 0 has lost its node's agent");
        }
    }

    @Test
    void anExceptionInAnyThreadIsRecordedAndEndsTheProcess() throws Exception {
        try (TestAgent agent = new TestAgent(1)) {
            List<Process> processes = agent.start(FailInThread.class, List.of(), "plain", "two words", "\u00e4\u4e16");
            assertThat(exitCode(processes.getFirst())).isEqualTo(1);
            assertThat(agent.output(0)).contains("plain|two words|").contains("say \"no\"");
            String record = Files.readString(agent.directory().resolve("rank-0.json"));
            assertThat(record)
                    .startsWith("{\"message\":{\"message\":\"java.lang.IllegalStateException: say \\\"no\\\"\\n\"")
                    .contains("\"java_callstack\":\"java.lang.IllegalStateException")
                    .contains("\"pid\":" + processes.getFirst().pid());
        }
    }
}
