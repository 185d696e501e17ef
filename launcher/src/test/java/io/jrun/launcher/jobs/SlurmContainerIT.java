package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Training in containers on a real Slurm cluster: an image with a JDK, the program and the text on a folder that is
 * mounted read-only, the checkpoints on a folder that is mounted read-write. The job saves a checkpoint on SIGUSR1, is
 * queued again, and goes on in new containers. Only under -Djrun.soak=true: the test takes two minutes on two cores.
 */
@EnabledIfSystemProperty(named = "jrun.soak", matches = "true", disabledReason = "takes two minutes: -Djrun.soak=true")
class SlurmContainerIT extends SlurmJobs {
    private static final int STEPS = 200;
    private static final List<String> TWO_NODES = List.of("--nodes=2", "--ntasks-per-node=2", "--requeue");

    @Test
    void aJobThatIsQueuedAgainGoesOnWithTheSameBits() throws Exception {
        assumeTrue(ContainerImages.unavailable().isEmpty(), ContainerImages.unavailable());
        Path image = ContainerImages.withJdk(folder.resolve("jdk.sqsh"));
        Path shared = Files.createDirectory(folder.resolve("shared"));
        Path train = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")), "examples/train.jar");
        Files.copy(train, shared.resolve("train.jar"));
        Files.writeString(
                shared.resolve("text"), "It was the best of times, it was the worst of times. ".repeat(2_000));
        String program = shared.resolve("train.jar") + " --tiny --log-every=1 --steps=" + STEPS;

        String plain =
                submit(TWO_NODES, JRUN + options() + program + " --data=" + shared.resolve("text") + " --out=plain");
        assertThat(cluster.awaitEnd(folder, plain))
                .as(TestCluster.output(folder, plain))
                .isEqualTo("COMPLETED");

        Path checkpoints = Files.createDirectory(folder.resolve("contained"));
        String job = submit(
                TWO_NODES,
                JRUN + options() + "--container-image=" + image + " --container-java=image --container-mounts=" + shared
                        + ":/data:ro," + checkpoints + ":/checkpoints " + program
                        + " --data=/data/text --checkpoint=/checkpoints --out=/checkpoints/out ${SLURM_RESTART_COUNT:+--resume}");
        TestCluster.awaitOutput(folder, job, "step 2/");
        cluster.slurm("scancel", "--signal=USR1", job);
        TestCluster.awaitOutput(folder, job, "checkpoint of step ");
        cluster.slurm("scontrol", "requeue", job);
        TestCluster.await(
                () -> cluster.field(job, "JobState").equals("PENDING"), () -> "job " + job + " to be pending");
        cluster.slurm("scontrol", "update", "JobId=" + job, "StartTime=now+2");

        assertThat(cluster.awaitEnd(folder, job))
                .as(TestCluster.output(folder, job))
                .isEqualTo("COMPLETED");
        assertThat(TestCluster.output(folder, job)).contains("4 ranks x 8 sequences, from step ", ", restart 1, ");
        assertThat(checkpoints.resolve("out")).hasSameBinaryContentAs(folder.resolve("plain"));
        for (String node : List.of("n1", "n2")) {
            assertThat(cluster.on(node, "cat", "/proc/mounts")).doesNotContain(image.toString(), "squashfs");
        }
    }

    private static String options() {
        return " --env JRUN_DETERMINISTIC=1 --jvm-opts=-XX:TieredStopAtLevel=1 ";
    }
}
