package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A rank that is late all the time is named, while the job runs and at the end of one that succeeds. */
@Tag("alone") // on a busy machine others are late as well
class StragglerIT extends RealJobs {
    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void theRankThatOthersWaitForIsNamed(String transport) throws Exception {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        try (World world = Distributed.init()) {
                            var data = MemorySegment.ofArray(new float[100]);
                            for (int step = 0; step < 40; step++) {
                                if (world.rank() == 1) {
                                    Thread.sleep(50); // The work of a slow machine.
                                }
                                world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                            }
                            System.out.println(world.group().stats());
                        }
                    }
                }
                """);
        Result result = jrun.with("JRUN_TRANSPORT", transport).run("--nproc-per-node=3", "--json", "job.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err())
                .containsPattern("jrun: rank 1 was late: others of group world waited \\d\\.\\d s \\(\\d+ % of the"
                        + " job\\); last in \\d+ of 40 collectives, by \\d+\\.\\d ms \\(median\\), ")
                .doesNotContain("rank 0 was late", "rank 2 was late")
                .contains("GroupStats[collectives=40, waited=PT");
        JsonNode stragglers = new JsonMapper().readTree(result.out()).path("stragglers");
        assertThat(stragglers).as(result.out()).hasSize(1);
        assertThat(stragglers.get(0).path("rank").asInt()).isEqualTo(1);
        assertThat(stragglers.get(0).path("othersWaitedSeconds").asDouble()).isBetween(1.0, 60.0);
        assertThat(stragglers.get(0).path("last").asInt()).isBetween(20, 40);
        assertThat(stragglers.get(0).path("maxSeconds").asDouble()).isGreaterThan(0.04);
    }

    /** Until there is a file "go", rank 1 is late; who runs the job can see that meanwhile. */
    @Test
    void aJobThatRunsShowsItsLateRankAndSaysItOnce() throws Exception {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;
                import java.nio.file.*;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        try (World world = Distributed.init()) {
                            var group = world.group();
                            var done = MemorySegment.ofArray(new int[1]);
                            do {
                                int go = 0;
                                if (world.rank() == 1) {
                                    Thread.sleep(100); // The work of a slow machine.
                                    go = Files.exists(Path.of("go")) ? 1 : 0;
                                }
                                done.set(java.lang.foreign.ValueLayout.JAVA_INT, 0, go);
                                group.allReduce(done, DataType.I32, 1, ReduceOp.MAX);
                            } while (done.get(java.lang.foreign.ValueLayout.JAVA_INT, 0) == 0);
                        }
                    }
                }
                """);
        Running job = jrun.start("--nproc-per-node=3", "job.jar");
        JRun.waitFor(
                () -> job.err().contains("jrun: rank 1 is late: others of group world have waited "),
                "a word about the late rank");
        JsonNode late = awaitStraggler(job.runId());
        assertThat(late.path("rank").asInt()).isEqualTo(1);
        assertThat(late.path("score").asDouble()).isGreaterThan(3.5);
        assertThat(late.path("othersWaitedSeconds").asDouble()).isGreaterThan(3);
        assertThat(jrun.run("describe", job.runId()).out())
                .contains("running")
                .containsPattern("late +rank 1 is late: others of group world have waited \\d+\\.\\d s so far");
        JsonNode later = awaitStraggler(job.runId());
        while (later.path("othersWaitedSeconds").asDouble()
                <= late.path("othersWaitedSeconds").asDouble()) {
            later = awaitStraggler(job.runId());
        }
        Files.createFile(folder.resolve("go"));
        Result result = job.awaitExit();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).containsOnlyOnce("is late").containsOnlyOnce("rank 1 was late: ");
        assertThat(jrun.run("describe", job.runId()).out()).contains("rank 1 was late: ");
    }

    private JsonNode awaitStraggler(String job) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (System.nanoTime() < end) {
            JsonNode late = new JsonMapper()
                    .readTree(jrun.run("describe", "--json", job).out())
                    .path("stragglers");
            if (!late.isEmpty()) {
                assertThat(late).hasSize(1);
                return late.get(0);
            }
        }
        throw new AssertionError("no straggler of " + job + " is shown");
    }
}
