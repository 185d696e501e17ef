package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/**
 * A job fails in its collectives; jrun flight-recorder names the rank and the operation from what the ranks have left.
 */
class FlightRecorderIT extends RealJobs {
    /**
     * Three ranks do the same once; then {@code other} does something else, once the others have made their next call.
     */
    private void program(int other, int timeoutSeconds, String somethingElse) {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;
                import java.time.Duration;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        try (var world = Distributed.init()) {
                            var data = MemorySegment.ofArray(new float[100]);
                            world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                            if (world.rank() == %1$d) {
                                for (int rank = 0; rank < 3; rank++) {
                                    if (rank != %1$d) world.store().get("called " + rank, Duration.ofSeconds(60));
                                }
                                %2$s
                            }
                            var group = world.group().withTimeout(Duration.ofSeconds(%3$d));
                            var second = group.allReduceAsync(data, DataType.F32, 100, ReduceOp.SUM);
                            world.store().set("called " + world.rank(), new byte[0]);
                            second.await();
                        }
                    }
                }
                """.formatted(other, somethingElse, timeoutSeconds));
    }

    private record Report(String text, JsonNode json) {
        JsonNode finding() {
            assertThat(json.path("findings")).as(text).hasSize(1);
            return json.path("findings").get(0);
        }

        List<Integer> ranks(JsonNode array) {
            return StreamSupport.stream(array.spliterator(), false)
                    .map(JsonNode::asInt)
                    .toList();
        }
    }

    private Report runAndRead() throws JsonProcessingException {
        Result job = jrun.run("--nproc-per-node=3", "job.jar");
        assertThat(job.exitCode()).as(job.err()).isNotZero();
        String logs = jrun.logs().toString();
        Result text = jrun.run("flight-recorder", String.valueOf(jrun.logs().getFileName()));
        assertThat(text.exitCode()).as(text.err()).isZero();
        Result json = jrun.run("flight-recorder", logs, "--json");
        assertThat(json.exitCode()).as(json.err()).isZero();
        assertThat(json.out()).hasLineCount(1);
        return new Report(text.out(), new JsonMapper().readTree(json.out()));
    }

    @Test
    void theRankThatCallsSomethingElseIsNamed() throws Exception {
        program(1, 60, "world.group().barrier();");
        Report report = runAndRead();
        assertThat(report.text())
                .contains("dumps of 3 of 3 ranks in ", "attempt-0\n")
                .contains("different calls on group world at operation #1: rank 1 called barrier #1, but 2 ranks (0, 2)"
                        + " called allReduce #1(f32, 100, SUM).")
                .containsPattern(" {3}1 .* (failed|started) .* barrier #1\n")
                .containsPattern(" {3}\\d {2}COLLECTIVE_MISMATCH: ");
        assertThat(report.finding().path("kind").asText()).isEqualTo("mismatch");
        assertThat(report.finding().path("sequence").asInt()).isEqualTo(1);
        assertThat(report.ranks(report.finding().path("guilty"))).containsExactly(1);
        assertThat(report.finding().path("ranks")).hasSize(3);
    }

    @Test
    void theRankThatNeverEntersIsNamed() throws Exception {
        program(2, 3, "Thread.sleep(1_000_000);");
        jrun.with("JRUN_LATE_WARNING_SECONDS", "1");
        Report report = runAndRead();
        assertThat(report.text())
                .contains("late on group world at operation #1: 2 ranks (0-1) waited in allReduce #1(f32, 100, SUM) for"
                        + " rank 2; rank 2 has completed allReduce #0(f32, 100, SUM) on group world and has entered no other"
                        + " operation of that group.")
                .contains("COLLECTIVE_TIMEOUT: ");
        assertThat(report.finding().path("kind").asText()).isEqualTo("late");
        assertThat(report.ranks(report.finding().path("guilty"))).containsExactly(2);
    }

    /** The second rank comes late to what all do, and the third to what fails: both are told apart. */
    @Test
    void theRankThatCameLastToAnOperationIsNamed() throws Exception {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        try (var world = Distributed.init()) {
                            var data = MemorySegment.ofArray(new float[100]);
                            for (int call = 0; call < 4; call++) {
                                if (call == 2 && world.rank() == 1) {
                                    Thread.sleep(200);
                                }
                                world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                            }
                            world.group().allReduce(data, DataType.F32, 10 + world.rank(), ReduceOp.SUM);
                        }
                    }
                }
                """);
        Report report = runAndRead();
        assertThat(report.text())
                .containsPattern("late ranks of the \\d collectives in which a rank waited:\nRANK ")
                .containsPattern("\n {3}1 +\\d+\\.\\d{3}  allReduce #2\\(f32, 100, SUM\\) on group world\n");
        JsonNode late = StreamSupport.stream(report.json().path("arrivals").spliterator(), false)
                .filter(arrival -> arrival.path("sequence").asInt() == 2)
                .findFirst()
                .orElseThrow();
        assertThat(late.path("lateRank").asInt()).as(late.toString()).isEqualTo(1);
        assertThat(late.path("lagSeconds").asDouble()).isBetween(0.1, 60.0);
        assertThat(late.path("waits")).hasSizeBetween(2, 3);
        assertThat(report.json().path("lateRanks").toString()).contains("{\"rank\":1,\"last\":");
        String rank = report.json().path("folder").asText() + "/rank-0000";
        Result listing = jrun.run("flight-recorder", rank);
        assertThat(listing.out())
                .as(listing.err())
                .startsWith("rank 0 of 3, host ")
                .containsPattern("\ncompleted .* 1 {2}allReduce #2\\(f32, 100, SUM\\) on group world\n");
        JsonNode operation = new JsonMapper()
                .readTree(jrun.run("flight-recorder", rank, "--json").out())
                .path("operations")
                .get(2);
        assertThat(operation.path("operation").asText()).isEqualTo("allReduce #2(f32, 100, SUM)");
        assertThat(operation.path("lateRank").asInt()).isEqualTo(1);
    }

    @Test
    void theRankThatIsKilledIsNamed() throws Exception {
        program(0, 60, "new ProcessBuilder(\"kill\", \"-9\", \"\" + ProcessHandle.current().pid()).start().waitFor();");
        Report report = runAndRead();
        assertThat(report.text()).contains("dumps of 2 of 3 ranks in ", "no dump of rank 0\n");
        assertThat(report.finding().path("kind").asText()).isEqualTo("late");
        assertThat(report.finding().path("text").asText())
                .contains("waited in allReduce #1(f32, 100, SUM) for ", "rank 0 has left no dump (it was killed");
        assertThat(report.ranks(report.finding().path("guilty"))).contains(0);
        assertThat(report.ranks(report.json().path("missing"))).containsExactly(0);
    }

    @Test
    void aFolderWithoutDumpsIsOneLineAndExitCode2() {
        for (String arguments : List.of("nowhere", ".", "", ". --jsn", ". x")) {
            Result result = jrun.run(("flight-recorder " + arguments).split(" "));
            assertThat(result.exitCode()).isEqualTo(2);
            assertThat(result.out()).isEmpty();
            assertThat(result.err()).startsWith("jrun: ").hasLineCount(1);
        }
    }
}
