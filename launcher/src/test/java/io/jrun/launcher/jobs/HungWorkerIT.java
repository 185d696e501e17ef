package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Workers that stand still, or get no further, end the job by name; and one that says so is not started again. */
class HungWorkerIT extends RealJobs {
    @BeforeEach
    void makeProgram() {
        Jars.program(folder.resolve("stay.jar"), "Stay", """
                public class Stay {
                    public static void main(String[] args) throws Exception {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            world.group().barrier();
                            System.out.println("up");
                            if (world.rank() == 1 || args.length == 0) Thread.sleep(1_000_000);
                            world.group().barrier();
                        }
                    }
                }
                """);
    }

    @Test
    void stoppedWorkerIsTheFirstFailure() {
        Running job = jrun.start("--nproc-per-node=2", "--worker-timeout=5", "--shutdown-timeout=1", "stay.jar");
        job.awaitOutput("[0@").awaitOutput("[1@");
        String pid = job.processesOfRank(1).getFirst();
        JRun.kill("STOP", pid);
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(75);
        assertThat(result.err())
                .containsPattern("first failure: rank 1 on \\S+ \\(pid " + pid
                        + "\\) has given no sign of life for 5 s;" + " process " + pid + " is stopped");
    }

    /** Rank 0 gives up 3 s after it has seen that rank 1 is stopped. */
    @Test
    void rankThatIsStoppedBeforeItJoinsIsNamedWithItsState() {
        Jars.program(folder.resolve("halt.jar"), "Halt", """
                import java.nio.file.*;

                public class Halt {
                    public static void main(String[] args) throws Exception {
                        Path pid = Path.of("pid");
                        if (System.getenv("RANK").equals("1")) {
                            Files.writeString(pid, "" + ProcessHandle.current().pid());
                            new ProcessBuilder("kill", "-STOP", Files.readString(pid)).start().waitFor();
                        }
                        while (!Files.exists(pid) || !stat(pid).contains(") T ")) Thread.sleep(10);
                        io.jrun.comm.Distributed.init().close();
                    }

                    static String stat(Path pid) throws Exception {
                        String text = Files.readString(pid);
                        return text.isEmpty() ? "" : Files.readString(Path.of("/proc/" + text + "/stat"));
                    }
                }
                """);
        jrun.with("JRUN_TIMEOUT_SECONDS", "3");
        Result result = jrun.run("--nproc-per-node=2", "--shutdown-timeout=1", "halt.jar");
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .containsPattern("first failure: .*not all ranks have joined within 3 s")
                .contains("  reported by rank 0 on ")
                .containsPattern("rank 1 on \\S+ \\(pid (\\d+)\\) had not joined: process \\1 is stopped \\(state T");
    }

    @Test
    void workerThatGetsNoFurtherIsTheFirstFailureAndNotTheOneThatWaitsForIt() {
        Running job = jrun.start("--nproc-per-node=2", "--progress-timeout=2", "--shutdown-timeout=1", "stay.jar", "x");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(75);
        assertThat(result.err())
                .containsPattern("first failure: rank 1 on .* has begun no operation for 2 s and is in none");
    }

    @Test
    void aProcessThatOutlivesItsMainSaysForWhichThread() throws IOException {
        Jars.program(folder.resolve("lingers.jar"), "Lingers", """
                public class Lingers {
                    public static void main(String[] args) {
                        Thread left = new Thread(Lingers::serve, "server");
                        left.start();
                    }
                    static void serve() {
                        try {
                            while (!java.nio.file.Files.exists(java.nio.file.Path.of("told"))) Thread.sleep(50);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                }
                """);
        Running job = jrun.start("lingers.jar");
        JRun.waitFor(() -> job.err().contains("main returned 10 s ago"), "the line about the thread");
        Files.writeString(folder.resolve("told"), "");
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err())
                .contains("still runs because of thread 'server' at Lingers.serve(Lingers.java:")
                .doesNotContain("DestroyJavaVM");
    }

    @Test
    void workerThatAsksNotToBeStartedAgainIsNot() {
        Result result = jrun.run("--max-restarts=3", "sh", "-c", "echo x; exit 65");
        assertThat(result.exitCode()).isEqualTo(65);
        assertThat(result.out()).hasLineCount(1);
    }
}
