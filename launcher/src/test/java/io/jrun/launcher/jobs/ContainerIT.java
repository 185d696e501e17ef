package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs in containers of a .sqsh image that holds a busybox and this machine's glibc. */
@Tag("alone") // on a busy machine a rank is late, and said to be
class ContainerIT extends RealJobs {
    @TempDir
    private static Path shared;

    private static Path image;

    @BeforeAll
    static void makeImage() throws Exception {
        assumeTrue(ContainerImages.unavailable().isEmpty(), ContainerImages.unavailable());
        image = ContainerImages.withoutJdk(shared.resolve("image.sqsh"));
    }

    @BeforeEach
    void chooseImage() {
        jrun.with("JRUN_CONTAINER_IMAGE", image.toString());
    }

    @Test
    void foreignProgramsHaveTheImagesEnvironmentUnderTheUsers() {
        Result result = jrun.with("BOTH", "node")
                .with("NAMED", "node")
                .with("OF_NODE", "node")
                .with("LD_LIBRARY_PATH", "/nowhere")
                .run(
                        "--container-env=NAMED",
                        "--env=MINE=mine",
                        "sh",
                        "-c",
                        "echo $OF_IMAGE $BOTH $NAMED $OF_NODE $MINE $LD_LIBRARY_PATH; ls /; echo gone >&2; exit 3");

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out())
                .contains("] image image node node mine\n", "] bin\n")
                .doesNotContain("] home\n");
        assertThat(result.err())
                .contains("gone")
                .containsOnlyOnce("jrun: variables with several values: NAMED has the node's value, by --container-env;"
                        + " BOTH has the image's value, not the node's\n");
    }

    @Test
    void ranksOfTwoContainersShareMemory() {
        Jars.program(folder.resolve("sum.jar"), "Sum", """
                import io.jrun.comm.*;
                import java.lang.foreign.*;

                public class Sum {
                    public static void main(String[] args) throws Exception {
                        try (World world = Distributed.init(); Arena arena = Arena.ofShared()) {
                            MemorySegment data = arena.allocate(4096, 64);
                            data.setAtIndex(ValueLayout.JAVA_FLOAT, 7, world.rank() + 1f);
                            world.group().allReduce(data, DataType.F32, 1024, ReduceOp.SUM);
                            System.out.println("sum " + data.getAtIndex(ValueLayout.JAVA_FLOAT, 7) + " "
                                    + new java.io.File("/home").exists() + " " + System.getProperty("user.name"));
                        }
                    }
                }
                """);

        Result result = jrun.run("--nproc-per-node=2", "sum.jar");

        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).endsWith("sum 3.0 false root"));
    }

    @Test
    void signalsReachTheProgramAndNothingIsLeftOfAKilledLauncher() throws Exception {
        Running job = jrun.start("sh", "-c", "trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.05; done")
                .awaitOutput("ready");
        assertThat(command("losetup", "-j", image.toString())).contains(image.toString());
        job.signal("USR1");
        job.awaitOutput("got");
        assertThat(job.await().exitCode()).isEqualTo(9);

        Running killed = jrun.start("--nproc-per-node=2", "sh", "-c", "echo ready; exec sleep 1000")
                .awaitOutput("ready");
        killed.signal("KILL");
        killed.await();
        JRun.waitFor(() -> command("losetup", "-j", image.toString()).isEmpty(), "end of the loop device");
        assertThat(command("mount")).doesNotContain(image.toString());
    }

    @Test
    void whatIsMissingIsSaidOnce() {
        Result noImage = jrun.run("--container-image=/nowhere.sqsh", "--nproc-per-node=3", "sh");
        Result noProgram = jrun.run("--nproc-per-node=3", "python3", "x.py");

        assertThat(noImage.exitCode()).isEqualTo(127);
        assertThat(noImage.err())
                .contains("could not be started: the image /nowhere.sqsh does not exist on this node")
                .contains("2 ranks (1-2): could not be started");
        assertThat(noProgram.err()).contains("python3: no such program inside the container on its PATH");
    }

    private static String command(String... words) {
        try {
            Process process =
                    new ProcessBuilder(words).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor();
            return said;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
