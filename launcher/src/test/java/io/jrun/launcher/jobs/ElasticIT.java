package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** The elastic example as its users run it: workers are lost at some moment, and it learns the same. */
class ElasticIT extends RealJobs {
    private static final int STEPS = 40;
    private static final int LOSSES = Boolean.getBoolean("jrun.soak") ? 50 : 1;

    private List<String> checkpoint = List.of();

    @Test
    void aLostWorkerIsReplacedAndTheParametersHaveTheSameBits() throws IOException {
        assertThat(train("whole", "--nproc-per-node=3").await().exitCode()).isZero();

        Running job = train("replaced", "--nproc-per-node=3", "--max-restarts=1");
        job.awaitOutput("step 10: ");
        List<Beginning> first = Beginning.in(job.out());
        JRun.kill("KILL", Beginning.pids(first, 1).getFirst());
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).contains("restart 1 of 1");

        List<Beginning> second = Beginning.in(result.out()).subList(3, 6);
        for (int rank : List.of(0, 2)) {
            assertThat(Beginning.pids(second, rank).getFirst())
                    .isEqualTo(Beginning.pids(first, rank).getFirst());
        }
        assertThat(Beginning.pids(second, 1).getFirst())
                .isNotEqualTo(Beginning.pids(first, 1).getFirst());
        assertThat(second)
                .allSatisfy(each -> assertThat(each.step()).isGreaterThanOrEqualTo(9))
                .extracting(Beginning::step)
                .containsOnly(second.getFirst().step());
        assertThat(folder.resolve("replaced")).hasSameBinaryContentAs(folder.resolve("whole"));

        // A worker that continues writes into the files with which it began.
        String survivor = Files.readString(jrun.logs().resolve("attempt-0/rank-0002/stdout.log"));
        assertThat(survivor.lines().filter(line -> line.contains("begins at step")))
                .hasSize(2);
        assertThat(jrun.logs().resolve("attempt-1/rank-0001/stdout.log")).exists();
        assertThat(jrun.logs().resolve("attempt-1/rank-0002")).doesNotExist();
        assertThat(jrun.run("logs", jrun.logs().toString(), "--rank=2").out()).isEqualTo(survivor);
    }

    @Test
    void aJobThatLosesAllItsWorkersGoesOnFromTheCheckpoint() {
        assertThat(train("kept", "--nproc-per-node=2").await().exitCode()).isZero();

        Random random = new Random(RunSeed.offset(1_000));
        for (int run = 0; run < LOSSES; run++) {
            String out = "resumed-" + run;
            checkpoint = List.of("--checkpoint=" + folder.resolve("checkpoints-" + run), "--checkpoint-every=4");
            Running job = train(out, "--nproc-per-node=2", "--max-restarts=2");
            job.awaitOutput("step 10: ");
            List<Beginning> first = Beginning.in(job.out());
            LockSupport.parkNanos(random.nextLong(LOSSES * 5_000_000L)); // also into saves
            for (int rank : List.of(0, 1)) {
                JRun.kill("KILL", Beginning.pids(first, rank).getFirst());
            }
            Result result = job.await();
            assertThat(result.exitCode()).as(result.err()).isZero();

            List<Beginning> all = Beginning.in(result.out());
            assertThat(all.subList(all.size() - 2, all.size())).allSatisfy(each -> {
                assertThat(each.step()).isGreaterThanOrEqualTo(8);
                assertThat(each.step() % 4).isZero();
                assertThat(first).extracting(Beginning::pid).doesNotContain(each.pid());
            });
            assertThat(folder.resolve(out)).hasSameBinaryContentAs(folder.resolve("kept"));
        }
    }

    @Test
    void theReportOfASurvivorsEndAndTheDumpsAreFoundWhereItsProcessBegan() {
        Running job = train("fails", "--nproc-per-node=3", "--max-restarts=1");
        job.awaitOutput("step 10: ");
        List<Beginning> first = Beginning.in(job.out());
        JRun.kill("KILL", Beginning.pids(first, 1).getFirst());
        JRun.waitFor(() -> Beginning.count(job.out(), 3) == 6, "the next round");
        JRun.kill("KILL", Beginning.pids(first, 2).getFirst());
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isEqualTo(137);
        Path logs = jrun.logs();
        Path files = logs.resolve("attempt-0/rank-0002");
        assertThat(files).isDirectory();
        assertThat(result.err()).contains("first failure: rank 2 ", "  logs: " + files + "\n");
        Result flight = jrun.run("flight-recorder", logs.toString());
        assertThat(flight.out()).as(flight.err()).contains("dumps of 2 of 3 ranks in " + logs + "\n");
    }

    /** Each worker holds a part of the model; the part of a killed worker comes from the memory of its neighbour. */
    @Test
    void killedWorkersOfAShardedModelLeaveNoTrace() {
        int kills = Boolean.getBoolean("jrun.soak") ? 50 : 2;
        String[] steps = {"--steps=" + (40 + 30 * kills)};
        long seconds = 120 + 10L * kills;
        assertThat(sharded("whole", List.of("--nproc-per-node=3"), steps)
                        .await(seconds)
                        .exitCode())
                .isZero();

        Running job = sharded("killed", List.of("--nproc-per-node=3", "--max-restarts=" + kills), steps);
        for (int kill = 0; kill < kills; kill++) {
            int begun = 3 * (kill + 1);
            JRun.waitFor(() -> Beginning.count(job.out(), 3) == begun, "round " + kill);
            List<Beginning> all = Beginning.in(job.out());
            int reported = (all.getLast().step() / 10 + 1) * 10;
            job.awaitOutput("step " + reported + ": ");
            JRun.kill(
                    "KILL",
                    Beginning.pids(all, (RunSeed.offset(3) + 2 * kill) % 3).getLast());
        }
        Result result = job.await(seconds);
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).contains("restart " + kills + " of " + kills);
        assertThat(Beginning.in(result.out()).subList(3, 3 * (kills + 1)))
                .allSatisfy(each -> assertThat(each.step()).isPositive());
        assertThat(folder.resolve("killed")).hasSameBinaryContentAs(folder.resolve("whole"));
    }

    private Running sharded(String out, List<String> options, String... steps) {
        return start("io.jrun.examples.elastic.TrainSharded", out, options.toArray(String[]::new), steps);
    }

    private Running train(String out, String... options) {
        return start(
                "io.jrun.examples.elastic.TrainElastic",
                out,
                options,
                StandingAgent.join(new String[] {"--steps=" + STEPS}, checkpoint.toArray(String[]::new)));
    }

    private Running start(String main, String out, String[] options, String... more) {
        Path jar =
                Path.of(Objects.requireNonNull(System.getProperty("jrun.home"))).resolve("examples/train.jar");
        String[] program = {
            "--env=JRUN_DETERMINISTIC=1",
            "--main-class=" + main,
            jar.toString(),
            "--pause=20",
            "--out=" + folder.resolve(out)
        };
        return jrun.start(StandingAgent.join(StandingAgent.join(options, program), more));
    }
}
