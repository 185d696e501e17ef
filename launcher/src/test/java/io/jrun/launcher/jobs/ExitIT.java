package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The end of a job decides the end of jrun. */
class ExitIT extends RealJobs {
    /** Variables of shells and of other programs: bash hands them on, dash drops names and the JVM replaces bytes. */
    @Test
    void variablesReachWorkersByteForByte() {
        Result result = jrun.with("JAVA_TOOL_OPTIONS", "-XX:+UseG1GC -XX:+UseParallelGC -javaagent:/nonexistent.jar")
                .with("_JAVA_OPTIONS", "-Xshare:off")
                .with("TMPDIR", "/nonexistent")
                .with("BASH_ENV", "/nonexistent")
                .startUnder(
                        List.of(
                                "/bin/bash",
                                "-c",
                                "unset BASH_ENV; exec env 'A.B=1' 'BASH_FUNC_called%%=() { echo called; }' RAW=$'\\xff\\xfe' \"$0\" \"$@\""),
                        "--no-prefix",
                        "bash",
                        "-c",
                        "called; printenv A.B; printf %s \"$RAW\" | od -An -tx1; echo $JAVA_TOOL_OPTIONS $_JAVA_OPTIONS")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out())
                .isEqualTo(
                        "called\n1\n ff fe\n-XX:+UseG1GC -XX:+UseParallelGC -javaagent:/nonexistent.jar -Xshare:off\n");
        assertThat(result.err())
                .isEqualTo("jrun: TMPDIR=/nonexistent does not exist here; jrun uses /tmp (unset TMPDIR, or make the"
                        + " folder)\n");
    }

    /** A container of a job has Slurm's variables, and often no way to its controller. */
    @Test
    void allocationOfThisNodeNeedsNoSrun() {
        jrun.with("SLURM_JOB_ID", "12")
                .with("SLURM_JOB_NODELIST", "n1")
                .with("SLURMD_NODENAME", "n1")
                .with("SLURM_NTASKS", "2")
                .with("SLURM_TASKS_PER_NODE", "2")
                .with("SLURM_CONF", "/nonexistent");
        Result result = jrun.run("--no-prefix", "sh", "-c", "echo $RANK of $WORLD_SIZE");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut()).containsExactly("0 of 2", "1 of 2");
        Result demanded = jrun.run("--launch=slurm", "true");
        assertThat(demanded.exitCode()).isEqualTo(2);
        assertThat(demanded.err())
                .startsWith("jrun: Slurm job 12 has 1 node, and jrun starts its agents with srun, but ")
                .hasLineCount(1);
    }

    @Test
    void argumentThatIsNotTextIsRefusedInOneLine() {
        Result result = jrun.startUnder(List.of("/bin/bash", "-c", "exec \"$0\" \"$@\" $'b\\xff'"), "echo", "\ufffd")
                .await();
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err())
                .startsWith("jrun: argument 3, 'b\\xff', is not UTF-8. ")
                .hasLineCount(1);
    }

    @Test
    void successIsZeroAndSaysNothing() {
        Result result = jrun.run("--nproc-per-node=2", "sh", "-c", "echo $RANK of $WORLD_SIZE");
        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.sortedOut())
                .satisfiesExactly(
                        line -> assertThat(line).matches("\\[0@.+] 0 of 2"),
                        line -> assertThat(line).matches("\\[1@.+] 1 of 2"));
    }

    @Test
    void temporaryFilesGoToTmpdir() throws IOException {
        Path temp = Files.createDirectory(folder.resolve("t"));
        Result result = jrun.with("TMPDIR", temp.toString()).run("sh", "-c", "echo $JRUN_AGENT_SOCKET");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).contains("] " + temp + "/jrun-");
        assertThat(temp).isEmptyDirectory();
    }

    @Test
    void exitCodeOfTheFirstFailureIsJrunsOwn() {
        Result result = jrun.run(
                "--nproc-per-node=3", "sh", "-c", "[ $RANK = 1 ] && { echo broken >&2; exit 42; }; exec sleep 100");
        assertThat(result.exitCode()).isEqualTo(42);
        assertThat(result.err())
                .containsPattern("jrun: first failure: rank 1 on \\S+ exited with code 42 \\(pid \\d+, after")
                .contains("    | broken")
                .contains("  2 ranks (0, 2): SIGTERM (143) after the stop signal")
                .contains("  logs: " + jrun.logs() + "/attempt-0/rank-0001");
    }

    @Test
    void killedWorkerIsReported() {
        Result result = jrun.run("--nproc-per-node=2", "sh", "-c", "[ $RANK = 0 ] && kill -9 $$; exec sleep 100");
        assertThat(result.exitCode()).isEqualTo(137);
        assertThat(result.err())
                .contains("rank 0 on ", "ended by SIGKILL, or the program's own exit 137", "out-of-memory killer");
    }

    @Test
    void restartsAreCountedForTheJob() {
        Result result = jrun.run(
                "--nproc-per-node=2",
                "--max-restarts=2",
                "sh",
                "-c",
                "echo attempt $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS; exit $((7 * (RANK == 1)))");
        assertThat(result.exitCode()).isEqualTo(7);
        assertThat(result.err()).contains("restart 1 of 2", "restart 2 of 2", "the job was restarted 2 times before");
        assertThat(result.out()).contains("attempt 0 of 2", "attempt 1 of 2", "attempt 2 of 2");
        assertThat(jrun.logs().resolve("attempt-2/rank-0001/stdout.log")).hasContent("attempt 2 of 2");
    }

    @Test
    void restartMayHeal() {
        Result result = jrun.run(
                "--nproc-per-node=2", "--max-restarts=1", "sh", "-c", "exit $((TORCHELASTIC_RESTART_COUNT == 0))");
        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).contains("; restart 1 of 1").doesNotContain("first failure");
    }

    @Test
    void timeoutIs124() {
        Result result = jrun.run("--timeout=300ms", "sleep", "100");
        assertThat(result.exitCode()).isEqualTo(124);
        assertThat(result.err()).contains("longer than --timeout allows");
    }

    @Test
    void gracePeriodEndsInSigkill() {
        Result result = jrun.run(
                "--nproc-per-node=2",
                "--shutdown-timeout=200ms",
                "sh",
                "-c",
                "trap '' TERM; [ $RANK = 0 ] && { while [ ! -e ready ]; do sleep 0.05; done; exit 3; };"
                        + " : > ready; while :; do sleep 0.1; done");
        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.err()).contains("rank 1: SIGKILL (137) after the stop signal");
    }

    @Test
    void usageErrorIsOneLineAndStartsNothing() {
        Result result = jrun.run("--nproc-per-ndoe=2", "sh", "-c", "echo never");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err())
                .isEqualTo("jrun: unknown option '--nproc-per-ndoe'; did you mean '--nproc-per-node'?\n");
        assertThat(result.out()).isEmpty();
        assertThat(folder.resolve("logs")).doesNotExist();
    }

    /** Two cases, drawn by the seed of the run; all cases under {@code -Djrun.soak=true}. */
    static Stream<Arguments> programThatCannotRunIsOneLine() {
        return RunSeed.sample(
                List.of(
                        Arguments.of("no-such-program", "no-such-program: no such program on PATH"),
                        Arguments.of("./no-such-program", "./no-such-program: no such file"),
                        Arguments.of("./text", "./text: not executable"),
                        Arguments.of("--workdir=nowhere sh", "--workdir: nowhere: no such folder"),
                        Arguments.of(
                                "--main-class=Nope classes",
                                "classes: the main class 'Nope' is neither in the jar nor on the class path"),
                        Arguments.of("--java=nowhere --main-class=Main classes", "--java: no bin/java in nowhere")),
                2)
                .stream();
    }

    /** All errors of usage are tests of the package cli. */
    @ParameterizedTest
    @MethodSource
    void programThatCannotRunIsOneLine(String job, String message) throws IOException {
        Files.writeString(folder.resolve("text"), "words");
        Files.createDirectory(folder.resolve("classes"));
        Result result = jrun.run(job.split(" ", -1));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).startsWith("jrun: " + message);
        assertThat(folder.resolve("logs")).doesNotExist();
    }

    /** As shells do: 127 where it is not there, 126 where it is no program. */
    @ParameterizedTest
    @CsvSource({"/no/such/interpreter, 127, No such file or directory", "/etc/passwd, 126, Permission denied"})
    void programWhoseInterpreterCannotRunIsReportedAsItsFailure(String interpreter, int exitCode, String why)
            throws IOException {
        executable("program", "#!" + interpreter + "\n");
        Result result = jrun.run("./program");
        assertThat(result.exitCode()).isEqualTo(exitCode);
        assertThat(result.err())
                .contains("first failure: rank 0 on ", "exited with code " + exitCode, "program: " + why);
    }

    /**
     * With its own modules a JVM may have classes that jrun does not see. Code 2 would say that nothing was started.
     */
    @Test
    void mainClassThatTheJvmDoesNotFindIsTheWorkersFailure() throws IOException {
        Files.createDirectory(folder.resolve("classes"));
        Result result = jrun.run("--jvm-opts=--add-modules=java.logging", "--main-class=Nope", "classes");
        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        assertThat(result.err()).contains("first failure: rank 0 on ", "cannot load the main class Nope");
    }

    /** The script is larger than a pipe: sbatch ends before it is written. */
    @Test
    void jobThatSbatchRefusesEndsWithItsCodeAndWords() throws IOException {
        executable("bin/sbatch", "#!/bin/sh\necho 'sbatch: error: invalid account' >&2\nexit 3\n");
        Result result = jrun.with("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"))
                .run("submit", "sh", "-c", "x".repeat(100_000));
        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.err()).isEqualTo("sbatch: error: invalid account\n");
    }

    private void executable(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void threadsAreSharedAmongWorkersWithoutAWord() {
        Result result = jrun.without("OMP_NUM_THREADS").run("--nproc-per-node=2", "sh", "-c", "echo $OMP_NUM_THREADS");
        assertThat(result.sortedOut())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).matches("\\[.+] [1-9]\\d*"));
        assertThat(result.err()).isEmpty();
    }

    @Test
    void gpusThatAreNotThereAreAUsageError() {
        Result result = jrun.with("CUDA_VISIBLE_DEVICES", "").run("--nproc-per-node=gpu", "sh", "-c", "echo never");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains("has no GPU that jrun can see").hasLineCount(1);
        assertThat(result.out()).isEmpty();
    }

    @Test
    void versionAndHelpGoToStdout() {
        assertThat(jrun.run("version").out()).matches("jrun \\d+\\.\\d+\\.\\d+ \\(Java 2.+\\)\n");
        assertThat(jrun.run("--help").out()).startsWith("Usage: jrun [options] PROGRAM [args...]\n");
        assertThat(jrun.run("-h").out()).startsWith("Usage: jrun [options] PROGRAM [args...]\n");
        assertThat(jrun.run("completion").out()).contains("--nproc-per-node");
    }

    @Test
    void backgroundChildThatKeepsThePipeDoesNotHoldTheJob() {
        Result result = jrun.run("sh", "-c", "sleep 1000 & echo done");
        assertThat(result.exitCode()).isZero();
        assertThat(result.out()).contains("done");
    }
}
