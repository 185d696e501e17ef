package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Elastic jobs in an allocation of a real Slurm cluster, of which an agent or a node is lost. */
class SlurmElasticIT extends SlurmJobs {
    /** Slurm notices a dead node after 10 s, jrun after 8; the rest is for a busy machine. */
    private static final Duration TIMEOUT = Duration.ofMinutes(3);

    private static final String ELASTIC = JRUN + " --nnodes=1:2 --nproc-per-node=1 --max-restarts=1 --node-cooldown=1 ";

    @Test
    void aLostAgentIsStartedAgainThroughSrun() {
        ElasticProgram program = ElasticProgram.in(folder);
        String job = submit(List.of("--nodes=2"), ELASTIC + program.jar());
        awaitRanks(job, 2, 2);
        cluster.on("n2", "pkill", "-KILL", "-f", "jar agent --launcher");
        awaitRanks(job, 1, 1);
        awaitRanks(job, 2, 4);
        program.finish();
        String state = cluster.awaitEnd(folder, job);
        String output = TestCluster.output(folder, job);
        assertThat(state).as(output).isEqualTo("COMPLETED");
        assertThat(output.lines().filter(line -> line.startsWith("jrun: the agent of n2 was lost: ")))
                .hasSize(1);
        assertThat(Beginning.pids(Beginning.in(output), 0).stream().distinct())
                .as("the survivor's process")
                .hasSize(1);
    }

    @Test
    void aLostNodeEndsNeitherTheAllocationNorTheJob() {
        ElasticProgram program = ElasticProgram.in(folder);
        String job = submit(List.of("--nodes=2", "--no-kill", "--no-requeue"), ELASTIC + program.jar());
        awaitRanks(job, 2, 2);
        cluster.crash("n2");
        try {
            awaitRanks(job, 1, 1);
            TestCluster.await(
                    () -> cluster.slurm("sinfo", "--noheader", "--nodes=n2", "--format=%T")
                            .startsWith("down"),
                    () -> "Slurm to notice that n2 is down");
            assertThat(cluster.field(job, "JobState")).isEqualTo("RUNNING");
            program.finish();
            String state = cluster.awaitEnd(folder, job);
            assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
            assertThat(TestCluster.output(folder, job)).contains("the agent of n2 was lost: ");
        } finally {
            cluster.boot("n2");
            TestCluster.await(
                    () -> cluster.slurm("sinfo", "--noheader", "--nodes=n2", "--format=%T")
                            .equals("idle"),
                    () -> "n2 to be back");
        }
    }

    private void awaitRanks(String job, int worldSize, int count) {
        JRun.waitFor(
                () -> Beginning.count(TestCluster.output(folder, job), worldSize) >= count,
                TIMEOUT,
                () -> count + " ranks in worlds of " + worldSize + "; output of job " + job + ":\n"
                        + TestCluster.output(folder, job));
    }
}
