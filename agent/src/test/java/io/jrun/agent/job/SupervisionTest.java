package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.Processes;
import io.jrun.agent.TestJob;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.WorkerExitedReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SupervisionTest {
    private static final int SIGKILL = 9;
    private static final int SIGUSR1 = 10;
    private static final int SIGTERM = 15;

    @TempDir
    Path folder;

    private TestJob job;

    @BeforeEach
    void open() throws IOException {
        job = TestJob.inProcess(folder.resolve("logs of run"));
        job.open();
    }

    @AfterEach
    void close() {
        job.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 42, 137, 255})
    void exitCodeIsReportedAsTheProgramGaveIt(int code) {
        job.launch(job.shells(2, "exit " + code));

        assertThat(job.exited(0).getExitCode()).isEqualTo(code);
        WorkerExitedReport second = job.exited(1);
        assertThat(second.getExitCode()).isEqualTo(code);
        assertThat(second.getPid()).isEqualTo(job.pid(1));
        assertThat(second.getAfterStop()).isFalse();
        assertThat(second.getStartError()).isEmpty();
        assertThat(second.getRunSeconds()).isPositive();
    }

    @Test
    void deathBySignalIs128PlusItsNumber() {
        job.launch(job.shells(1, "kill -KILL $$"));
        assertThat(job.exited(0).getExitCode()).isEqualTo(128 + SIGKILL);
    }

    @Test
    void lastStderrLinesAreReported() {
        job.launch(job.shells(
                1, "i=0; while [ $i -lt 50 ]; do echo line $i >&2; i=$((i+1)); done; printf tail >&2; exit 3"));
        assertThat(job.exited(0).getStderrTailList()).hasSize(20).endsWith("line 48", "line 49", "tail");
    }

    @Test
    void missingProgramIsAStartError() {
        job.launch(executable("no-such-program"));
        WorkerExitedReport exited = job.exited(0);
        assertThat(exited.getPid()).isZero();
        assertThat(exited.getExitCode()).isEqualTo(127);
        assertThat(exited.getStartError()).startsWith("no-such-program: no such program on PATH");
    }

    @Test
    void programWithoutPermissionIsAStartError() throws IOException {
        Path script = Files.writeString(folder.resolve("script"), "#!/bin/sh\n");
        job.launch(executable(script.toString()));
        assertThat(job.exited(0).getExitCode()).isEqualTo(126);
        assertThat(job.exited(0).getStartError()).contains("is not executable; try chmod +x");
    }

    @Test
    void missingWorkingDirectoryIsAStartError() {
        job.launch(job.shells(1, "true").setWorkingDir(folder + "/gone"));
        assertThat(job.exited(0).getStartError()).contains("/gone does not exist on this node");
    }

    @Test
    void unwritableLogFolderIsAStartError() throws IOException {
        Files.createDirectories(job.rankDir(0).getParent());
        Files.writeString(job.rankDir(0), "in the way");
        job.launch(job.shells(1, "true"));
        assertThat(job.exited(0).getStartError()).contains("cannot be written");
    }

    /** On a host where the launcher has not made the folder, another user may have guessed its name. */
    @Test
    void logFolderThatIsALinkIsAStartError() throws IOException {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        Files.createSymbolicLink(folder.resolve("logs of run"), elsewhere);
        job.launch(job.shells(1, "true"));
        assertThat(job.exited(0).getStartError())
                .contains("is a symbolic link, to " + elsewhere + ", which any user may have made");
        assertThat(elsewhere).isEmptyDirectory();
    }

    @Test
    void workingDirectoryWithSpacesIsEntered() throws IOException {
        Path dir = Files.createDirectories(folder.resolve("a b/c\u00fc"));
        job.launch(job.shells(1, "pwd").setWorkingDir(dir.toString()));
        job.exited(0);
        assertThat(job.stdout(0)).isEqualTo(dir + "\n");
    }

    @Test
    void backgroundChildThatKeepsThePipeIsKilledWithTheGroup() throws IOException {
        Path pidFile = folder.resolve("child");
        job.launch(job.shells(1, "sleep 300 & echo $! > '" + pidFile + "'; echo done"));
        assertThat(job.exited(0).getExitCode()).isZero();
        long child = Processes.readPid(pidFile);
        Processes.await(() -> !Processes.isAlive(child));
        assertThat(job.stdout(0)).isEqualTo("done\n");
    }

    @Test
    void daemonThatKeepsThePipeOutsideTheGroupDoesNotHoldTheJob() throws IOException {
        Path pidFile = folder.resolve("child");
        job.launch(job.shells(
                1,
                "setsid sh -c 'echo $$ > \"" + pidFile + "\"; exec sleep 300' & until [ -s '" + pidFile
                        + "' ]; do sleep 0.01; done; echo done"));
        assertThat(job.exited(0).getExitCode()).isZero();
        assertThat(job.stdout(0)).isEqualTo("done\n");
        ProcessHandle.of(Processes.readPid(pidFile)).ifPresent(ProcessHandle::destroyForcibly);
    }

    /** As daemons do; nothing that they inherit by their own will says whose they are. */
    @Test
    void childWithoutEnvironmentInASessionOfItsOwnIsKilledWithTheRound() throws IOException {
        Path pidFile = folder.resolve("child");
        job.launch(job.shells(
                1,
                "env -i setsid /bin/sh -c 'echo $$ > \"" + pidFile
                        + "\"; exec sleep 300' < /dev/null > /dev/null 2>&1 &" + " until [ -s '" + pidFile
                        + "' ]; do sleep 0.01; done"));
        assertThat(job.exited(0).getExitCode()).isZero();
        long child = Processes.readPid(pidFile);
        Processes.await(() -> !Processes.isAlive(child));
    }

    @Test
    void unusedSharedMemoryIsRemovedWithTheRound() throws Exception {
        Path used = sharedMemory("a-used");
        Path left = sharedMemory("b-left");
        Path strange = Path.of("/dev/shm", "other-" + job.runId());
        Process user = new ProcessBuilder("flock", "-s", used.toString(), "-c", "echo ready; exec sleep 300").start();
        try {
            user.inputReader().readLine();
            job.launch(job.shells(1, ": > '" + left + "'; : > '" + strange + "'"));
            assertThat(job.exited(0).getExitCode()).isZero();
            Processes.await(() -> !Files.exists(left));
            job.end();
            assertThat(used).exists();
            assertThat(strange).exists();
        } finally {
            user.descendants().forEach(ProcessHandle::destroyForcibly);
            user.destroyForcibly();
            Files.deleteIfExists(used);
            Files.deleteIfExists(strange);
        }
    }

    /** The name of a segment of the job's. */
    private Path sharedMemory(String end) throws IOException {
        return Path.of(
                "/dev/shm",
                "jrun-" + Files.getAttribute(Path.of("/proc/self"), "unix:uid") + "-" + job.runId() + "-" + end);
    }

    @Test
    void processThatIgnoresTermIsKilledAfterTheGraceTime() throws IOException {
        job.launch(job.shells(1, "trap '' TERM; echo ready; while :; do sleep 0.05; done"));
        job.awaitStdout(0, "ready");
        job.stop(SIGTERM, 200);
        WorkerExitedReport exited = job.exited(0);
        assertThat(exited.getExitCode()).isEqualTo(128 + SIGKILL);
        assertThat(exited.getAfterStop()).isTrue();
    }

    @Test
    void processThatHandlesTermEndsInItsOwnWay() throws IOException {
        job.launch(job.shells(1, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
        job.awaitStdout(0, "ready");
        job.stop(SIGTERM, 30_000);
        assertThat(job.exited(0).getExitCode()).isEqualTo(7);
    }

    @Test
    void laterStopShortensTheGraceTime() throws IOException {
        job.launch(job.shells(1, "trap '' TERM; echo ready; while :; do sleep 0.05; done"));
        job.awaitStdout(0, "ready");
        job.stop(SIGTERM, 600_000);
        job.stop(SIGTERM, 0);
        assertThat(job.exited(0).getExitCode()).isEqualTo(128 + SIGKILL);
    }

    @Test
    void stopSentBeforeTheForkStillEndsTheWorker() {
        job.launch(job.shells(4, "sleep 300"));
        job.stop(SIGKILL, 0);
        for (int rank = 0; rank < 4; rank++) {
            assertThat(job.exited(rank).getExitCode()).isEqualTo(128 + SIGKILL);
        }
    }

    @Test
    void userSignalReachesOnlyProcessesThatHandleIt() throws IOException {
        job.launch(job.shells(
                2,
                "if [ $RANK = 0 ]; then trap 'echo got it; exit 5' USR1; fi; echo ready; " + "while [ ! -e '" + folder
                        + "/go' ]; do sleep 0.05; done; exit 6"));
        job.awaitStdout(0, "ready");
        job.awaitStdout(1, "ready");
        job.send(ControlRequest.newBuilder()
                .setSignalWorkers(SignalWorkers.newBuilder().setSignal(SIGUSR1))
                .build());
        assertThat(job.exited(0).getExitCode()).isEqualTo(5);
        Files.createFile(folder.resolve("go"));
        assertThat(job.exited(1).getExitCode()).isEqualTo(6);
        assertThat(job.stdout(0)).endsWith("got it\n");
    }

    @Test
    void endOfTheControlStreamKillsWorkersAndTheirChildren() throws IOException {
        Path pidFile = folder.resolve("child");
        job.launch(job.shells(1, "trap '' TERM; sleep 300 & echo $! > '" + pidFile + "'; wait"));
        long worker = job.pid(0);
        long child = Processes.readPid(pidFile);
        job.end();
        assertThat(Processes.isAlive(worker)).isFalse();
        Processes.await(() -> !Processes.isAlive(child));
    }

    @Test
    void roundMayNotStartBeforeTheOneBeforeIsReaped() {
        job.launch(job.shells(1, "sleep 300"));
        job.pid(0);
        job.launch(job.shells(1, "true").setRound(2).setRestartCount(1));
        assertThat(job.awaitError()).hasMessageContaining("round 2 may not start: rank 0 (pid " + job.pid(0) + ")");
    }

    @Test
    void nextRoundWritesItsOwnFolder() throws IOException {
        job.launch(job.shells(1, "echo first; exit 1"));
        job.exited(0);
        job.launch(job.shells(1, "echo $TORCHELASTIC_RESTART_COUNT; echo second > '" + folder + "/second'")
                .setRound(2)
                .setRestartCount(1));
        job.await(
                message ->
                        message.hasWorkerExited() && message.getWorkerExited().getRound() == 2,
                message -> message);
        assertThat(job.stdout(0)).isEqualTo("first\n");
        assertThat(folder.resolve("logs of run/attempt-1/rank-0000/stdout.log")).hasContent("1\n");
    }

    private LaunchRound.Builder executable(String path) {
        return job.launch(1)
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(ExecutableSpec.newBuilder().setPath(path)));
    }
}
