package io.jrun.launcher.jobs;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs in containers of a .sqsh image that holds a busybox and this machine's glibc. */
@Tag("alone") // on a busy machine a rank is late, and said to be
class ContainerIT extends RealJobs {
    private static final Path MEMORY_CGROUPS = Path.of("/sys/fs/cgroup/memory");
    private static final long LIMIT_BYTES = 2L << 30;

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
    void theEntrypointStartsTheProgramAndItsOutputIsShownOnDemand() {
        jrun.with("GIVEN", "given").with("OF_NODE", "node");
        String[] program = {"sh", "-c", "echo entered $ENTERED; echo seen [$SEEN] $GIVEN $OF_NODE; exit 4"};
        Result plain = jrun.run(program);
        Result quiet = jrun.run(words(List.of("--container-entrypoint", "--container-env=GIVEN"), program));
        Result loud = jrun.run(words(List.of("--container-entrypoint", "--container-entrypoint-log"), program));

        assertThat(plain.out()).contains("entered\n").doesNotContain("of the entrypoint");
        assertThat(quiet.out())
                .contains("entered yes\n", "seen [given] given node\n")
                .doesNotContain("of the entrypoint");
        assertThat(loud.out()).contains("entered yes\n", "seen [] given node\n", "of the entrypoint\n");
        assertThat(List.of(plain.exitCode(), quiet.exitCode(), loud.exitCode())).containsOnly(4);
    }

    @Test
    void execRunsACommandInTheContainerOfAWorker() throws Exception {
        Running job = jrun.start(
                        "--container-unshare=pid",
                        "--env=MINE=mine",
                        "sh",
                        "-c",
                        "echo of worker > /tmp/own; echo on; while [ ! -e /tmp/go ]; do sleep 0.05; done; cat /tmp/go")
                .awaitOutput("on");
        Result beside = jrun.run(
                "exec",
                job.runId(),
                "0",
                "sh",
                "-c",
                "cat /tmp/own; echo $OF_IMAGE $MINE $$; ls /; echo bye > /tmp/go; exit 7");
        assertThat(beside.exitCode()).as(beside.err()).isEqualTo(7);
        assertThat(beside.out())
                .matches("(?s)of worker\nimage mine \\d\\d?\n.*")
                .contains("\nbin\n")
                .doesNotContain("\nhome\n");
        assertThat(job.await().out()).contains("] bye\n");
    }

    /** Also with PIDs of their own, by which a worker cannot say to the agent who it is. */
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
                                    + new java.io.File("/home").exists() + " " + System.getProperty("user.name")
                                    + (ProcessHandle.current().pid() < 9 ? " own pids " : " node's pids ")
                                    + Runtime.getRuntime().maxMemory());
                        }
                    }
                }
                """);

        for (List<String> options :
                List.of(List.<String>of(), List.of("--container-unshare=pid"), List.of("--container-runtime=podman"))) {
            if (options.contains("--container-runtime=podman") && !TestCommand.exists("podman")) {
                continue; // BuiltinEngineTest names the packages
            }
            Result result = underMemoryLimit(words(options, "--nproc-per-node=2", "sum.jar"));

            assertThat(result.exitCode()).as("%s: %s", options, result.err()).isZero();
            assertThat(result.sortedOut())
                    .hasSize(2)
                    .allSatisfy(line -> assertThat(line)
                            .contains("sum 3.0 false root")
                            .contains(options.isEmpty() ? " node's pids " : " own pids "));
            if (!options.contains("--container-runtime=podman")) { // podman hides the controllers of cgroup v1
                assertThat(result.sortedOut())
                        .allSatisfy(line -> assertThat(Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                                .isLessThan(LIMIT_BYTES));
            }
        }
    }

    /** A JVM's largest heap is a part of the limit that the cgroup sets. */
    private Result underMemoryLimit(String... words) {
        Path group = MEMORY_CGROUPS.resolve(jrun.runId());
        assumeTrue(Files.isWritable(MEMORY_CGROUPS), "needs the memory controller of cgroup v1");
        try {
            Files.createDirectory(group);
            Files.writeString(group.resolve("memory.limit_in_bytes"), Long.toString(LIMIT_BYTES));
            List<String> enter = List.of("sh", "-c", "echo $$ > " + group + "/cgroup.procs; exec \"$@\"", "enter");
            try {
                return jrun.startUnder(enter, words).await();
            } finally {
                JRun.waitFor(() -> group.toFile().delete(), "end of the processes in " + group);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String[] words(List<String> options, String... program) {
        return Stream.concat(options.stream(), Stream.of(program)).toArray(String[]::new);
    }

    /** The folder of the job exists inside as the parent of the jar's mount point. */
    @Test
    void theWorkingFolderIsTheJobsFolderOnlyIfItIsMounted() {
        Jars.program(folder.resolve("where.jar"), "Where", """
                public class Where {
                    public static void main(String[] args) {
                        System.out.println("in " + System.getProperty("user.dir") + ".");
                    }
                }
                """);
        Result plain = jrun.run("--container-readonly", "where.jar");
        Result mounted = jrun.run("--container-mounts=" + folder, "where.jar");

        assertThat(plain.out()).as(plain.err()).contains("in /.");
        assertThat(plain.err()).doesNotContain("native libraries go to");
        assertThat(mounted.out()).as(mounted.err()).contains("in " + folder + ".");
    }

    @Test
    void theHomeFolderIsMountedOnDemandAndTheWorkingFolderChosen() throws Exception {
        Path home = Files.createDirectory(folder.resolve("home"));
        Files.createFile(home.resolve("of-user"));
        jrun.with("HOME", home.toString()).with("JRUN_CONTAINER_WORKDIR", "/bin");
        String[] program = {"sh", "-c", "echo in $(pwd) with $(ls ~ 2>/dev/null); touch ~/made"};
        Result without = jrun.run(program);
        Result with = jrun.run(words(List.of("--container-mount-home"), program));
        Result missing = jrun.with("HOME", "/nowhere/at/all")
                .with("XDG_STATE_HOME", folder.resolve("state").toString())
                .run(words(List.of("--container-mount-home"), program));

        assertThat(without.out()).as(without.err()).contains("in /bin with\n");
        assertThat(with.out()).as(with.err()).contains("in /bin with of-user\n");
        assertThat(home.resolve("made")).exists();
        assertThat(missing.err())
                .contains("--container-mount-home: the home folder /nowhere/at/all does not exist on this node");
    }

    /** A JVM is process 1 of podman's container, and gets the signals from podman. */
    @Test
    void podmanPassesSignalsOnAndEndsWithTheLauncher() throws Exception {
        assumeTrue(TestCommand.exists("podman") && TestCommand.exists("crun"), "needs the packages podman and crun");
        Jars.program(folder.resolve("wait.jar"), "Wait", """
                public class Wait {
                    public static void main(String[] args) throws Exception {
                        sun.misc.Signal.handle(new sun.misc.Signal("USR1"), _ -> {
                            System.out.println("got");
                            System.exit(9);
                        });
                        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
                        System.out.println("ready");
                        Thread.sleep(1_000_000);
                    }
                }
                """);
        String[] job = {"--container-runtime=podman", "--container-env=JOB_OF_TEST", "wait.jar"};
        jrun.with("JOB_OF_TEST", folder.toString());
        Running job1 = jrun.start(job).awaitOutput("ready");
        job1.signal("USR1");
        job1.awaitOutput("hook");
        assertThat(job1.await().exitCode()).isEqualTo(9);
        assertThat(job1.out()).contains("got");

        Running killed = jrun.start(job).awaitOutput("ready");
        killed.signal("KILL");
        killed.await();
        JRun.waitFor(() -> processesOfTheTest().isEmpty(), "end of podman's processes");
        assertThat(command("mount")).doesNotContain(image.toString());
        assertThat(command("losetup", "-j", image.toString())).isEmpty();
    }

    /** The processes with this test's variable, podman's and conmon's too. */
    private List<String> processesOfTheTest() {
        String variable = "JOB_OF_TEST=" + folder;
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            return all.filter(process -> {
                        try {
                            return Files.readString(Path.of("/proc/" + process.pid() + "/environ"), ISO_8859_1)
                                    .contains(variable);
                        } catch (IOException e) {
                            return false; // the process has ended
                        }
                    })
                    .map(process -> process.info().toString())
                    .toList();
        }
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

        assertThat(noImage.exitCode()).isEqualTo(126);
        assertThat(noImage.err().lines()).hasSize(3); // the failure, the other ranks, the logs
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
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
