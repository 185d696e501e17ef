package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.FailEarly;
import io.jrun.comm.WorkerPrograms.Mismatch;
import io.jrun.comm.WorkerPrograms.ReduceForever;
import io.jrun.comm.WorkerPrograms.ReduceWithoutRankOne;
import io.jrun.comm.record.FlightRecorder;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What failing processes leave of their flight recorders; the launcher's tests read it with jrun's own command. */
@Timeout(120)
class FlightDumpIT {
    private static Path file(TestAgent agent, int rank) {
        return agent.logFolder(rank).resolve("flight.json");
    }

    private static List<String> dump(TestAgent agent, int rank) throws IOException {
        List<String> lines = Files.readAllLines(file(agent, rank));
        assertThat(lines)
                .allMatch(line -> line.startsWith("{\"") && line.endsWith("}"))
                .first()
                .asString()
                .startsWith(
                        "{\"flightRecorder\":1,\"rank\":" + rank + ",\"worldSize\":2,\"host\":\"testhost\",\"pid\":");
        long dumped = nanos("dump", lines.getFirst()).orElseThrow();
        for (String line : lines) {
            assertThat(nanos("queued", line).orElse(0)).isBetween(0L, dumped);
            assertThat(nanos("started", line).orElse(0)).isBetween(0L, dumped);
            assertThat(nanos("ended", line).orElse(0)).isBetween(0L, dumped);
            assertThat(nanos("endedBefore", line).orElse(0)).isBetween(0L, dumped);
        }
        return lines;
    }

    private static OptionalLong nanos(String what, String line) {
        Matcher matcher = Pattern.compile("\"" + what + "Nanos\":(-?\\d+)").matcher(line);
        return matcher.find() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void everyRankOfAMismatchDumpsItsOwnCall(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            for (Process process : agent.start(Mismatch.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(dump(agent, 0))
                    .anyMatch(line -> line.contains("\"reason\":\"COLLECTIVE_MISMATCH: "))
                    .anyMatch(line -> line.startsWith("{\"group\":\"world\",\"ranks\":[0, 1],\"started\":2"))
                    .anyMatch(line -> line.contains("\"call\":\"barrier #0\",\"state\":\"completed\""))
                    .anyMatch(line -> line.contains("\"call\":\"allReduce #1(f32, 100, SUM)\",\"state\":\"failed\""));
            assertThat(dump(agent, 1)).anyMatch(line -> line.contains("\"call\":\"barrier #1\",\"state\":\"failed\""));
        }
    }

    @Test
    void aRankThatEntersNothingIsNamedInAWarningAndDumpsWhenTheJobIsAborted() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setTimeoutSeconds(3);
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            List<Process> processes = agent.start(ReduceWithoutRankOne.class, List.of());
            assertThat(TestAgent.exitCode(processes.getFirst())).isEqualTo(1);
            String late = "for rank 1 (host testhost, pid " + processes.get(1).pid() + "), having entered no operation";
            assertThat(agent.output(0))
                    .containsOnlyOnce("jrun: rank 0: allocate #0(1048576 bytes) on group world has waited 1 s (it fails"
                            + " after 3 s) " + late + "\n")
                    .contains("still waits " + late + ". A rank may be");
            assertThat(dump(agent, 0)).first().asString().contains("COLLECTIVE_TIMEOUT");
            agent.abort("rank 0 failed");
            TestAgent.await("dump of rank 1", () -> Files.exists(file(agent, 1)));
            assertThat(dump(agent, 1))
                    .hasSize(2)
                    .anyMatch(line -> line.contains("\"started\":0,\"completed\":0"))
                    .first()
                    .asString()
                    .contains("\"reason\":\"ABORTED: the job is stopping: rank 0 failed\"");
        }
    }

    @Test
    void aKilledRankLeavesNothingAndItsPeerTellsWhereItWaited() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#3000:enter"));
            agent.awaitOutput(1, "jrun-test: paused at allReduce#3000:enter");
            processes.get(1).destroyForcibly();
            assertThat(TestAgent.exitCode(processes.getFirst())).isEqualTo(1);
            assertThat(file(agent, 1)).doesNotExist();
            List<String> lines = dump(agent, 0);
            assertThat(lines).hasSize(2 + FlightRecorder.CAPACITY);
            assertThat(lines.getFirst())
                    .contains("PEER_LOST: rank 1", "\"operations\":3001,")
                    .contains("Where the ranks are: rank 0 in allReduce #3000(f32, 262144, SUM); rank 1 was killed")
                    .contains(", before that in allReduce #3000(f32, 262144, SUM).\"");
            assertThat(lines.getLast())
                    .contains("\"call\":\"allReduce #3000(f32, 262144, SUM)\",\"state\":\"failed\",\"queuedNanos\":");
        }
    }

    @Test
    void overTcpTheWarningNamesWhoIsWaitedForToo() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.TCP)) {
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#7:enter"));
            agent.awaitOutput(0, "jrun: rank 0: allReduce #7(f32, 262144, SUM) on group world has waited 1 s");
            assertThat(agent.output(0))
                    .contains("for data from rank 1 (host testhost, pid "
                            + processes.get(1).pid() + ")");
        }
    }

    @Test
    void aTerminatedRankDumpsAndAnUncaughtExceptionDoes() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#7:enter"));
            agent.awaitOutput(1, "jrun-test: paused at allReduce#7:enter");
            processes.get(1).destroy();
            assertThat(TestAgent.exitCode(processes.get(1))).isEqualTo(143);
            assertThat(dump(agent, 1)).first().asString().contains("by a signal or System.exit");
        }
        try (TestAgent agent = new TestAgent(2)) {
            for (Process process : agent.start(FailEarly.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(dump(agent, 1)).first().asString().contains("IllegalStateException: out of luck");
        }
    }

    /** Sends a message of tag 7 to rank 1, which waits for one of tag 8. */
    public static final class WrongTag {
        private WrongTag() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                MemorySegment one = MemorySegment.ofArray(new int[1]);
                if (world.rank() == 0) {
                    world.group().messages().send(one, DataType.I32, 1, 1, 7);
                } else {
                    world.group().messages().recv(one, DataType.I32, 1, 0, 8);
                }
                world.group().barrier();
            }
        }
    }

    @Test
    void messagesAreDumpedWithTheirTags() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setTimeoutSeconds(3);
            for (Process process : agent.start(WrongTag.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            assertThat(dump(agent, 0))
                    .anyMatch(line -> line.contains("\"peer\":1,\"tag\":7,\"count\":1,")
                            && line.contains("\"call\":\"send #0(i32, 1, tag 7, to 1)\",\"state\":\"completed\""));
            assertThat(dump(agent, 1))
                    .anyMatch(line -> line.contains("\"peer\":0,\"tag\":8,\"count\":1,")
                            && line.contains("\"call\":\"recv #0(i32, 1, tag 8, from 0)\",\"state\":\"failed\""));
        }
    }

    /** Rank 1 comes a tenth of a second late to operation #2; the sixth is none that the others call. */
    public static final class LateToTheThird {
        private LateToTheThird() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                MemorySegment data = MemorySegment.ofArray(new float[100]);
                for (int call = 0; call < 5; call++) {
                    if (call == 2 && world.rank() == 1) {
                        Thread.sleep(100);
                    }
                    world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                }
                world.group().allReduce(data, DataType.F32, 10 + world.rank(), ReduceOp.SUM);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void eachOperationHasTheRankThatWasWaitedForAndABoundOfItsEnd(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            for (Process process : agent.start(LateToTheThird.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            List<String> operations = dump(agent, 0).stream()
                    .filter(line -> line.contains("\"op\""))
                    .toList();
            assertThat(operations).hasSize(6);
            assertThat(operations.get(2)).contains("\"call\":\"allReduce #2(f32, 100, SUM)\"", "\"lateRank\":1,");
            assertThat(nanos("late", operations.get(2)).orElseThrow()).isBetween(50_000_000L, 60_000_000_000L);
            for (int call = 0; call < 5; call++) {
                assertThat(nanos("endedBefore", operations.get(call)))
                        .as(operations.get(call))
                        .isEqualTo(nanos("started", operations.get(call + 1)));
            }
            assertThat(operations.getLast()).contains("\"endedNanos\":").doesNotContain("endedBefore");
        }
    }
}
