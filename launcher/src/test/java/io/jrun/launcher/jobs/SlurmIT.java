package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Jobs in allocations of a real Slurm cluster of two nodes. Soak, 20 of 20 cancelled: -Djrun.soak=true. */
class SlurmIT extends SlurmJobs {
    @Test
    void batchScriptNeedsNoOptionOfJruns() {
        Jars.program(folder.resolve("sum.jar"), "Sum", """
                import io.jrun.comm.*;
                import java.lang.foreign.*;
                public class Sum {
                    public static void main(String[] args) {
                        try (var world = Distributed.init(); var arena = Arena.ofShared()) {
                            MemorySegment value = arena.allocate(ValueLayout.JAVA_FLOAT, 1);
                            value.set(ValueLayout.JAVA_FLOAT, 0, world.rank() + 1);
                            world.group().allReduce(value, DataType.F32, 1, ReduceOp.SUM);
                            System.out.println(value.get(ValueLayout.JAVA_FLOAT, 0) + " of " + world.size() + ", gpu "
                                    + System.getenv("CUDA_VISIBLE_DEVICES"));
                        }
                    }
                }
                """);
        String job = submit(List.of("--nodes=2", "--gpus-per-node=2"), JRUN + " sum.jar");
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(workerLines(job))
                .containsExactly(
                        "[0@n1] 10.0 of 4, gpu 0",
                        "[1@n1] 10.0 of 4, gpu 1",
                        "[2@n2] 10.0 of 4, gpu 0",
                        "[3@n2] 10.0 of 4, gpu 1");
    }

    @Test
    void allocationOfAnotherShellIsUsedTheSameWay() {
        Result result = jrun.startUnder(
                        cluster.with("salloc", "--quiet", "--nodes=2", "--gpus=2", "--gpus-per-task=1", "--ntasks=2"),
                        "--map-by=node",
                        "--nproc-per-node=2",
                        "sh",
                        "-c",
                        "echo $LOCAL_RANK $GROUP_RANK of $WORLD_SIZE on $(uname -n)")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactly(
                        "[0@n1] 0 0 of 4 on n1",
                        "[1@n2] 0 1 of 4 on n2",
                        "[2@n1] 1 0 of 4 on n1",
                        "[3@n2] 1 1 of 4 on n2");
    }

    @Test
    void allComponentsOfAHeterogeneousJobAreItsNodes() {
        String job = submit(
                List.of("--nodes=1", "--ntasks-per-node=2", ":", "--nodes=1", "--gpus-per-node=1"),
                JRUN + " sh -c 'echo $RANK of $WORLD_SIZE, gpu=$CUDA_VISIBLE_DEVICES'");
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(workerLines(job))
                .containsExactly("[0@n1] 0 of 3, gpu=", "[1@n1] 1 of 3, gpu=", "[2@n2] 2 of 3, gpu=0");
    }

    /** torchrun's habit, with a step that starts one jrun on each node. */
    @Test
    void jrunsOfAStepMeetAtTheGivenEndpoint() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "b1946ac92492d2347c6235b4d2611184\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        String meet = JRUN + " --nnodes=2 --nproc-per-node=2 --rdzv-endpoint=n1:29400 --secret-file=" + secret;
        String job = submit(
                List.of("--nodes=2", "--ntasks-per-node=4"),
                "srun --export=ALL --ntasks-per-node=4 " + meet
                        + " true; echo crowded $?; srun --export=ALL --ntasks=2 --ntasks-per-node=1 " + meet
                        + " sh -c 'echo $RANK on $(uname -n)'");
        String state = cluster.awaitEnd(folder, job);
        String output = TestCluster.output(folder, job);
        assertThat(state).as(output).isEqualTo("COMPLETED");
        assertThat(output.lines().filter(line -> line.startsWith("jrun: srun has started jrun 8 times on 2 nodes")))
                .hasSize(1);
        assertThat(output).contains("crowded 2\n");
        assertThat(workerLines(job))
                .containsExactly("[0@n1] 0 on n1", "[1@n1] 1 on n1", "[2@n2] 2 on n2", "[3@n2] 3 on n2");
    }

    @Test
    void dryRunSaysWhichRuleCounted() {
        Result result = jrun.startUnder(
                        cluster.with("salloc", "--quiet", "--nodes=2", "--gres=gpu:3"),
                        "--dry-run",
                        "--exclude=n2:1",
                        "true")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().lines().filter(line -> line.contains(" n1 "))).hasSize(3);
        assertThat(result.out().lines().filter(line -> line.contains(" n2 "))).hasSize(2);
        assertThat(result.out()).contains("2 nodes; workers on each: one for each GPU of the allocation");
    }

    /** The cluster has no cgroups: every process sees all CPUs of this machine, two at least. */
    @Test
    void workersHaveTheCpusThatSlurmGave() {
        Jars.program(folder.resolve("cpus.jar"), "Cpus", """
                public class Cpus {
                    public static void main(String[] args) {
                        System.out.println(Runtime.getRuntime().availableProcessors() + " " + System.getenv("OMP_NUM_THREADS"));
                    }
                }
                """);
        String job = submit(
                List.of("--nodes=2", "--ntasks=2", "--cpus-per-task=1"),
                "unset OMP_NUM_THREADS; " + JRUN + " --nproc-per-node=1 cpus.jar");
        assertThat(cluster.awaitEnd(folder, job))
                .as(TestCluster.output(folder, job))
                .isEqualTo("COMPLETED");
        assertThat(workerLines(job)).containsExactly("[0@n1] 1 1", "[1@n2] 1 1");
    }

    @Test
    void doctorLooksAtTheNodesOfItsAllocation() {
        Result inside = jrun.startUnder(cluster.with("salloc", "--quiet", "--nodes=2"), "doctor")
                .await();
        assertThat(inside.out().lines().map(line -> line.replaceAll(" +", " ")))
                .as(inside.err())
                .anySatisfy(line -> assertThat(line)
                        .matches("ok slurm slurm\\S* \\S+, a cluster of 2 nodes, inside job \\d+ of 2 nodes"))
                .anySatisfy(line -> assertThat(line).startsWith("ok n1 agent jrun "))
                .anySatisfy(line -> assertThat(line).matches("ok n2 to n1 .* ms there and back, .*"));
        Result outside = jrun.startUnder(cluster.with(), "doctor").await();
        assertThat(outside.out().lines().map(line -> line.replaceAll(" +", " ")))
                .anySatisfy(
                        line -> assertThat(line).matches("ok slurm slurm\\S* \\S+, a cluster of 2 nodes, outside .*"))
                .noneMatch(line -> line.contains("n1 agent"));
    }

    @Test
    void failureOfAWorkerIsTheJobs() {
        String job = submit(
                List.of("--nodes=2", "--ntasks-per-node=2"), JRUN + " sh -c '[ $RANK != 3 ] || exit 7; sleep 1000'");
        assertThat(cluster.awaitEnd(folder, job)).isEqualTo("FAILED");
        assertThat(cluster.field(job, "ExitCode"))
                .as(TestCluster.output(folder, job))
                .isEqualTo("7:0");
    }

    /** scancel's SIGTERM reaches launcher, srun, agents and workers at once. */
    @Test
    void cancelledWorkersHaveTheirTimeToEndWell() throws IOException {
        Jars.program(folder.resolve("hook.jar"), "Hook", """
                import java.nio.file.*;
                public class Hook {
                    public static void main(String[] args) throws Exception {
                        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                            try {
                                Thread.sleep(500);
                                Files.createFile(Path.of("ended-" + args[0] + "-" + System.getenv("RANK")));
                            } catch (Exception e) {
                                throw new IllegalStateException(e);
                            }
                        }));
                        System.out.println("up " + System.getenv("RANK"));
                        Thread.sleep(600_000);
                    }
                }
                """);
        for (int round = 0; round < (Boolean.getBoolean("jrun.soak") ? 20 : 1); round++) {
            String job = submit(List.of("--nodes=2", "--ntasks-per-node=2"), JRUN + " hook.jar " + round);
            for (int rank = 0; rank < 4; rank++) {
                TestCluster.awaitOutput(folder, job, "up " + rank);
            }
            cluster.slurm("scancel", job);
            assertThat(cluster.awaitEnd(folder, job)).isEqualTo("CANCELLED");
            for (int rank = 0; rank < 4; rank++) {
                assertThat(Path.of("ended-" + round + "-" + rank))
                        .satisfies(file -> assertThat(folder.resolve(file))
                                .as(TestCluster.output(folder, job))
                                .exists());
            }
        }
    }

    @Test
    void signalBeforeTheTimeLimitAsksForACheckpoint() {
        Jars.program(folder.resolve("checkpoint.jar"), "Checkpoint", """
                import io.jrun.comm.*;
                public class Checkpoint {
                    public static void main(String[] args) throws Exception {
                        try (var world = Distributed.init()) {
                            System.out.println("up " + world.rank());
                            while (!world.checkpointRequested()) Thread.sleep(10);
                            System.out.println("saved " + world.rank());
                        }
                    }
                }
                """);
        String job = submit(List.of("--nodes=2", "--ntasks-per-node=2"), JRUN + " checkpoint.jar");
        for (int rank = 0; rank < 4; rank++) {
            TestCluster.awaitOutput(folder, job, "up " + rank);
        }
        cluster.slurm("scancel", "--signal=USR1", job); // what --signal=USR1@60 sends: to the steps
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(TestCluster.output(folder, job)).contains("saved 0", "saved 1", "saved 2", "saved 3");
    }

    @Test
    void jobThatIsQueuedAgainKnowsIt() {
        String job = submit(
                List.of("--nodes=2", "--requeue"),
                JRUN
                        + " sh -c 'echo start $SLURM_RESTART_COUNT on $(uname -n); [ \"$SLURM_RESTART_COUNT\" ] || exec sleep 1000'");
        TestCluster.awaitOutput(folder, job, "start on n1");
        TestCluster.awaitOutput(folder, job, "start on n2");
        cluster.requeue(job);
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(TestCluster.output(folder, job)).contains("start 1 on n1", "start 1 on n2", ", restart 1, ");
    }

    @Test
    void eachTaskOfSrunPrintsTheError() {
        Result result = jrun.startUnder(cluster.with("srun", "--quiet", "--nodes=2", "--ntasks=8"), "true")
                .await();
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err().lines().filter(line -> line.contains("jrun: ")))
                .singleElement()
                .asString()
                .startsWith("jrun: srun has started jrun 8 times");
    }

    @Test
    void submittedJobRuns() throws IOException {
        Result printed = jrun.run("submit", "--print", "--nnodes=2", "--time=5", "sh", "-c", "echo 'a b'");
        assertThat(printed.out())
                .startsWith("#!/bin/sh\n#SBATCH --time=5\n#SBATCH --job-name=sh\n")
                .contains("#SBATCH --nodes=2\n")
                .endsWith("jrun --nnodes=2 sh -c 'echo '\\''a b'\\'''\n");
        Result submitted = jrun.startUnder(
                        cluster.with("env"),
                        "submit",
                        "--nnodes=2",
                        "--output=slurm-%j.out",
                        "sh",
                        "-c",
                        "echo $RANK 'a b'")
                .await();
        assertThat(submitted.exitCode()).as(submitted.err()).isZero();
        String job = submitted.out().strip().replaceFirst("Submitted batch job ", "");
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(workerLines(job)).containsExactly("[0@n1] 0 a b", "[1@n2] 1 a b");
    }
}
