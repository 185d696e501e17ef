package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A rank that is late all the time is named at the end of a job that succeeds. */
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
                .containsPattern(
                        "jrun: rank 1 was late: the others of group world waited \\d\\.\\d s for it \\(\\d+ % of the"
                                + " job\\); it came last in \\d+ of 40 collectives, by \\d+\\.\\d ms in the middle, ")
                .doesNotContain("rank 0 was late", "rank 2 was late")
                .contains("GroupStats[collectives=40, waited=PT");
        JsonNode stragglers = new JsonMapper().readTree(result.out()).path("stragglers");
        assertThat(stragglers).as(result.out()).hasSize(1);
        assertThat(stragglers.get(0).path("rank").asInt()).isEqualTo(1);
        assertThat(stragglers.get(0).path("othersWaitedSeconds").asDouble()).isBetween(1.0, 60.0);
        assertThat(stragglers.get(0).path("last").asInt()).isBetween(20, 40);
        assertThat(stragglers.get(0).path("maxSeconds").asDouble()).isGreaterThan(0.04);
    }
}
