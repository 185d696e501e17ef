package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Slurm signals all processes of a step. An ordinary user's JVM in a .sqsh image runs its handler and its shutdown
 * hook, since squashfuse lives on. Once each; twenty times each under -Djrun.soak=true.
 */
class SlurmContainerSignalIT extends SlurmJobs {
    /** Slurm itself takes seconds; the rest is for a busy machine. */
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private static final List<String> JOB =
            List.of("--nodes=2", "--ntasks-per-node=1", "--uid=" + OrdinaryUser.UID, "--gid=" + OrdinaryUser.UID);

    @TempDir
    private static Path shared;

    private static Path image;

    static IntStream times() {
        return IntStream.range(0, Boolean.getBoolean("jrun.soak") ? 20 : 1);
    }

    @BeforeAll
    static void prepareNodes() throws Exception {
        assumeTrue(ContainerImages.unavailable().isEmpty(), ContainerImages.unavailable());
        assumeTrue(TestCommand.exists("squashfuse"), "needs the package squashfuse");
        image = ContainerImages.withoutJdk(shared.resolve("image.sqsh"));
        Jars.program(shared.resolve("wait.jar"), "Wait", """
                public class Wait {
                    public static void main(String[] args) throws Exception {
                        sun.misc.Signal.handle(new sun.misc.Signal("USR1"), _ -> {
                            System.out.println("handler of " + System.getenv("RANK"));
                            System.exit(0);
                        });
                        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                            try {
                                System.out.println(new Late().text());
                            } catch (Throwable e) {
                                System.out.println("hook failed: " + e);
                            }
                        }));
                        System.out.println("ready " + System.getProperty("user.name"));
                        Thread.sleep(1_000_000);
                    }

                    /** Loaded by the hook, from the image's files. */
                    static class Late {
                        String text() {
                            return "hook of " + System.getenv("RANK");
                        }
                    }
                }
                """);
        OrdinaryUser.own(shared);
        for (String node : List.of("n1", "n2")) {
            cluster.on(node, "sh", "-c", OrdinaryUser.FUSE_FOR_ALL);
        }
    }

    @ParameterizedTest
    @MethodSource("times")
    void scancelRunsTheShutdownHooks(int time) {
        String job = start();
        cluster.slurm("scancel", job);

        assertThat(cluster.awaitEnd(folder, job)).isEqualTo("CANCELLED");
        assertThat(TestCluster.output(folder, job)).contains("hook of 0\n", "hook of 1\n");
        assertNothingLeft();
    }

    @ParameterizedTest
    @MethodSource("times")
    void usr1RunsTheHandlers(int time) {
        String job = start();
        cluster.slurm("scancel", "--signal=USR1", job);

        assertThat(cluster.awaitEnd(folder, job))
                .as(TestCluster.output(folder, job))
                .isEqualTo("COMPLETED");
        assertThat(TestCluster.output(folder, job))
                .contains("handler of 0\n", "handler of 1\n", "hook of 0\n", "hook of 1\n");
        assertNothingLeft();
    }

    private String start() {
        assertThat(Files.exists(image)).isTrue();
        OrdinaryUser.own(folder);
        String job = submit(
                JOB,
                "exec " + JRUN + " --container-image=" + image + " --nproc-per-node=1 " + shared.resolve("wait.jar"));
        JRun.waitFor(
                () -> TestCluster.output(folder, job)
                                .lines()
                                .filter(line -> line.contains("ready nobody"))
                                .count()
                        == 2,
                TIMEOUT,
                () -> "both workers; the output is\n" + TestCluster.output(folder, job));
        return job;
    }

    private static void assertNothingLeft() {
        JRun.waitFor(
                () -> ContainerLeftovers.of(image).isEmpty(),
                TIMEOUT,
                () -> "the end of the containers; left: " + ContainerLeftovers.of(image));
    }
}
