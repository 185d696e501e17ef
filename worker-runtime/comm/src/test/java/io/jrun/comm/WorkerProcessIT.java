package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import example.SendToNobody;
import io.jrun.comm.WorkerPrograms.EveryOperation;
import io.jrun.comm.WorkerPrograms.FailEarly;
import io.jrun.comm.WorkerPrograms.FailInThread;
import io.jrun.comm.WorkerPrograms.FailWhilePending;
import io.jrun.comm.WorkerPrograms.InstanceMain;
import io.jrun.comm.WorkerPrograms.JoinTwice;
import io.jrun.comm.WorkerPrograms.LeaveEarly;
import io.jrun.comm.WorkerPrograms.MuchOfEverything;
import io.jrun.comm.WorkerPrograms.ReduceForever;
import io.jrun.comm.WorkerPrograms.ReduceMuch;
import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
class WorkerProcessIT {
    @AfterEach
    void nothingIsLeftInSharedMemory() throws IOException {
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(name -> name.contains(TestAgent.FOLDER_START));
        }
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @SampledCases(
            count = 1,
            value = {"2, SHM", "3, SHM", "2, TCP", "3, TCP"})
    void everyOperationIsExactBetweenProcesses(int size, TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(size, transport)) {
            for (Process process : agent.start(EveryOperation.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).as(agent.output(0)).isZero();
            }
            assertThat(agent.output(size - 1)).contains("rank " + (size - 1) + " of " + size + " did everything");
            assertThat(agent.logFolder(0))
                    .as("dumps where nothing failed, beside the timeline")
                    .isDirectoryNotContaining(
                            file -> !file.getFileName().toString().startsWith("timeline-"));
        }
    }

    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"AUTO", "SHM", "TCP"})
    void muchOfEveryOperationIsExactBetweenProcesses(TransportKind transport) throws Exception {
        boolean isOnNodes = transport == TransportKind.AUTO;
        try (TestAgent agent = isOnNodes ? new TestAgent(List.of(2, 1)) : new TestAgent(3, transport)) {
            List<Process> processes = agent.start(MuchOfEverything.class, List.of());
            for (int rank = 0; rank < processes.size(); rank++) {
                assertThat(TestAgent.exitCode(processes.get(rank)))
                        .as(agent.output(rank))
                        .isZero();
                assertThat(agent.output(rank)).contains("rank " + rank + " did much");
            }
        }
    }

    /**
     * TLS updates its keys after every mebibyte, while the sockets of both ranks are full. The sockets are full because
     * the JVM encrypts slowly without the optimizing compiler.
     */
    @Test
    void newKeysDoNotHoldUpWhatIsOnItsWay() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.TCP)) {
            Path limits = agent.directory().resolve("limits");
            Files.writeString(limits, "jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate 2^20\n");
            agent.setVariable("JRUN_ENCRYPT", "1");
            List<Process> processes = agent.start(ReduceMuch.class, List.of("-Djava.security.properties=" + limits));
            for (int rank = 0; rank < processes.size(); rank++) {
                assertThat(TestAgent.exitCode(processes.get(rank)))
                        .as(agent.output(rank))
                        .isZero();
                assertThat(agent.output(rank)).contains("all sums are right");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "JRUN_PIECE_BYTES | 1000 | JRUN_PIECE_BYTES is 1000 (expected 4096 or more)",
                "JRUN_PIECE_BYTES | 4M   | JRUN_PIECE_BYTES is '4M' (expected a whole number)",
                "JRUN_CONNECTIONS | 17   | JRUN_CONNECTIONS is 17 (expected 1..16)",
                "JRUN_GPU_DIRECT_STORAGE | on | JRUN_GPU_DIRECT_STORAGE is 'on' (expected auto or off)"
            })
    void aVariableThatCannotBeUsedIsOneLine(String name, String value, String line) throws Exception {
        try (TestAgent agent = new TestAgent(1, TransportKind.AUTO)) {
            agent.setVariable(name, value);
            Process process = agent.start(EveryOperation.class, List.of()).getFirst();
            assertThat(TestAgent.exitCode(process)).isEqualTo(2);
            assertThat(agent.output(0)).contains("jrun: " + line).doesNotContain("Exception");
        }
    }

    /**
     * Rank 1 is killed in a phase of all-reduce 7. Ranks that have finished all-reduce 7 wait for rank 1 in the next
     * one.
     */
    @ParameterizedTest(name = "{0} ranks, {1}, {2}")
    @SampledCases(
            count = 1,
            value = {
                "2, SHM, enter, 7",
                "2, SHM, reduce, 7",
                "2, SHM, exit, 8",
                "2, TCP, enter, 7",
                "2, TCP, reduce, 8",
                "3, TCP, reduce, 7",
                "2, TCP, exit, 8"
            })
    void aKilledRankIsNamedWithTheOperationItsPeersWaitedIn(
            int size, TransportKind transport, String phase, int awaited) throws Exception {
        try (TestAgent agent = new TestAgent(size, transport)) {
            String place = "allReduce#7:" + phase;
            List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:" + place));
            agent.awaitOutput(1, "jrun-test: paused at " + place);
            processes.get(1).destroyForcibly();
            for (int rank = 0; rank < size; rank++) {
                if (rank == 1) {
                    continue;
                }
                assertThat(TestAgent.exitCode(processes.get(rank))).isEqualTo(1);
                assertThat(agent.output(rank))
                        .contains(
                                "rank 1 (host testhost, pid " + processes.get(1).pid() + ")")
                        .contains("allReduce #" + awaited + "(f32, 262144, SUM)");
                String record = Files.readString(agent.directory().resolve("rank-" + rank + ".json"));
                assertThat(record)
                        .startsWith("{\"message\":{\"message\":\"io.jrun.comm.CommException: ")
                        .contains("allReduce #" + awaited);
            }
            if (transport == TransportKind.SHM) {
                assertThat(agent.output(0)).contains("was killed").contains("while rank 0 (host testhost");
            } else {
                assertThat(agent.output(0)).contains("lost rank 1");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aRankThatReturnsFromMainIsNamedAtOnce(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            List<Process> processes = agent.start(LeaveEarly.class, List.of());
            assertThat(TestAgent.exitCode(processes.get(1))).isZero();
            assertThat(TestAgent.exitCode(processes.get(0))).isEqualTo(1);
            assertThat(agent.output(0)).contains("rank 1").contains("barrier #1");
            if (transport == TransportKind.SHM) {
                assertThat(agent.output(0)).contains("returned from main while rank 0");
            } else {
                assertThat(agent.output(0))
                        .contains("lost rank 1 (host testhost")
                        .contains("returned from main");
            }
        }
    }

    @Test
    void aRankWhoseExceptionClosesItsWorldHasFailedAndNotLeftAndDumps() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            for (Process process : agent.start(FailEarly.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(1)).contains("out of luck");
            assertThat(agent.output(0)).contains("(exit code 1) while rank 0").doesNotContain("returned from main");
            byte[] dump = Files.readAllBytes(agent.logFolder(1).resolve("flight.bin"));
            assertThat(RankRecord.decode(dump).reason()).contains("IllegalStateException: out of luck");
        }
    }

    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"SHM", "TCP"})
    void aFailureIsNotHeldBackByWhatIsPending(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            agent.setTimeoutSeconds(600);
            for (Process process : agent.start(FailWhilePending.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(0)).contains("the real cause");
            assertThat(Files.readString(agent.directory().resolve("rank-0.json")))
                    .contains("the real cause");
            assertThat(agent.output(1)).contains("rank 0 (host testhost");
        }
    }

    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"SHM", "TCP"})
    void joiningTwiceIsAnErrorThatHarmsNothing(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            for (Process process : agent.start(JoinTwice.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).as(agent.output(0)).isZero();
            }
            assertThat(agent.output(0))
                    .contains("USAGE: joining the job failed: the agent refused this process: rank 0 has joined before")
                    .contains("goes on")
                    .doesNotContain("has lost its node's agent");
        }
    }

    @Test
    void theMainMethodMayBeAnInstances() throws Exception {
        try (TestAgent agent = new TestAgent(1)) {
            assertThat(TestAgent.exitCode(
                            agent.start(InstanceMain.class, List.of()).getFirst()))
                    .isZero();
            assertThat(agent.output(0)).contains("main of an instance");
        }
    }

    @Test
    void anAbortEndsWhatIsPending() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#2:enter"));
            agent.awaitOutput(1, "jrun-test: paused at allReduce#2:enter");
            agent.abort("rank 9 failed");
            assertThat(TestAgent.exitCode(processes.get(0))).isEqualTo(1);
            assertThat(agent.output(0)).contains("the job is stopping: rank 9 failed");
        }
    }

    @Test
    void workersEndWithTheirAgent() throws Exception {
        TestAgent agent = new TestAgent(2);
        List<Process> processes = agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#2:enter"));
        try (agent) {
            agent.awaitOutput(1, "jrun-test: paused at allReduce#2:enter");
            agent.hangUp();
            for (Process process : processes) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(agent.output(0)).contains("jrun: rank 0 has lost its node's agent");
        }
    }

    /** Users first need the exception and the line of their own program. */
    @Test
    void theStackOfAFailureBeginsAndEndsInTheProgram() throws Exception {
        try (TestAgent agent = new TestAgent(1)) {
            assertThat(TestAgent.exitCode(
                            agent.start(SendToNobody.class, List.of()).getFirst()))
                    .isEqualTo(1);
            assertThat(agent.output(0).lines().map(line -> line.replaceFirst("[0-9]+\\)$", "N)")))
                    .containsSubsequence(
                            "Exception in thread \"main\" java.lang.IllegalStateException: the step failed",
                            "\tat example.SendToNobody.main(SendToNobody.java:N)")
                    .anySatisfy(line -> assertThat(line).startsWith("Caused by: "))
                    .contains("\tat example.SendToNobody.step(SendToNobody.java:N)")
                    .noneMatch(line -> line.contains("\tat java.base/") || line.contains("\tat io.jrun."));
            String record = Files.readString(agent.directory().resolve("rank-0.json"));
            assertThat(record.replaceFirst(".*\"java_callstack\":", "").replaceFirst("\"full_callstack.*\n", ""))
                    .contains("example.SendToNobody.step")
                    .doesNotContain("\\tat io.jrun.", "\\tat java.base");
            assertThat(record.replaceFirst(".*\"full_callstack\":", ""))
                    .contains("example.SendToNobody.step", "\\tat io.jrun.comm.", "WorkerMain.main");
        }
    }

    @Test
    void anExceptionInAnyThreadIsRecordedAndEndsTheProcess() throws Exception {
        try (TestAgent agent = new TestAgent(1)) {
            List<Process> processes = agent.start(FailInThread.class, List.of(), "plain", "two words", "\u00e4\u4e16");
            assertThat(TestAgent.exitCode(processes.getFirst())).isEqualTo(1);
            assertThat(agent.output(0)).contains("plain|two words|").contains("say \"no\"");
            String record = Files.readString(agent.directory().resolve("rank-0.json"));
            assertThat(record)
                    .startsWith("{\"message\":{\"message\":\"java.lang.IllegalStateException: say \\\"no\\\"\\n\"")
                    .contains("\"java_callstack\":\"java.lang.IllegalStateException")
                    .contains("\"pid\":" + processes.getFirst().pid());
        }
    }
}
