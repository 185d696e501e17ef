package io.jrun.launcher.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.coordinator.Ends;
import io.jrun.launcher.coordinator.FailureBroadcastLatency;
import io.jrun.launcher.coordinator.JobOutcome;
import io.jrun.launcher.coordinator.StopCause;
import io.jrun.launcher.coordinator.WorkerResult;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.StreamChoice;
import io.jrun.launcher.job.TerminalStreams;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FailureReportTest {
    private static final Path LOGS = Path.of("/logs/run");

    @Test
    void successIsNotReported() {
        assertThat(report(Optional.empty(), Ends.of(0, 0))).isEmpty();
    }

    @Test
    void firstFailureComesWithItsStackOnce() {
        WorkerResult first = Ends.withError(1, 1, false, "java.lang.IllegalStateException: boom");
        assertThat(failed(first, first, Ends.stopped(0, 143)))
                .containsExactly(
                        "jrun: first failure: rank 1 on node1 exited with code 1 (pid 1001, after 1.3 s)",
                        "  java.lang.IllegalStateException: boom",
                        "  \tat app.Main.main(Main.java:7)",
                        "  rank 0: SIGTERM (143) after the stop signal",
                        "  logs: /logs/run/attempt-0/rank-0001");
    }

    @Test
    void rankThatDidNotComeIsInTheHeadline() {
        String late = "barrier #3 on group world timed out after 4 s: rank 1 (host node1, pid 1001) did not come.";
        WorkerResult first = Ends.withError(0, 1, new WorkerResult.WorkerError("app.Failed: x", "", late, ""));
        WorkerResult other = Ends.withError(2, 1, new WorkerResult.WorkerError("app.Failed: x", "", late, ""));
        assertThat(failed(first, first, other, Ends.stopped(1, 143)))
                .startsWith(
                        "jrun: first failure: " + late,
                        "  reported by rank 0 on node1, which exited with code 1 (pid 1000, after 1.3 s)")
                .contains("  rank 2: exit 1, the same failure", "  rank 1: SIGTERM (143) after the stop signal");
    }

    @Test
    void crashOfAJvmIsNamedWithItsSignalAndFrame() {
        WorkerResult first = Ends.withError(
                1, 134, new WorkerResult.WorkerError("", "", "", "SIGSEGV in native code, at [libc.so.6+0x1] strlen"));
        assertThat(failed(first, first))
                .startsWith("jrun: first failure: rank 1 on node1 crashed: SIGSEGV in native code, at [libc.so.6+0x1]"
                        + " strlen (pid 1001, after 1.3 s)");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            java.lang.OutOfMemoryError: Java heap space               | --jvm-opts=-Xmx
            java.lang.OutOfMemoryError: GC overhead limit exceeded    | --jvm-opts=-Xmx
            java.lang.OutOfMemoryError: Metaspace                     | -XX:MaxMetaspaceSize
            java.lang.OutOfMemoryError: Cannot reserve 9 bytes of direct buffer memory (allocated: 1, limit: 2) | MaxDirectMemorySize
            java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory | ulimit -u
            java.lang.OutOfMemoryError: Physical memory usage is too high: physicalBytes (3G) > maxPhysicalBytes (2G) | smaller batches
            """)
    void remedyForAnOutOfMemoryErrorIsGiven(String message, String remedy) {
        WorkerResult first = Ends.withError(1, 1, false, message);
        assertThat(failed(first, first)).anyMatch(line -> line.contains(remedy) && !line.contains(message));
    }

    @Test
    void ranksThatTheOthersWaitedForAreNamedWithTheirState() {
        WorkerResult stopped = Ends.notJoined("process 1001 is stopped (state T)", Ends.stopped(1, 137));
        String line = "  rank 1 on node1 (pid 1001) had not joined: process 1001 is stopped (state T)";
        Optional<StopCause> late = Optional.of(new StopCause.TimedOut());
        assertThat(report(late, Ends.stopped(0, 143), stopped)).contains(line);
        WorkerResult waited = Ends.withError(0, 1, false, "not all ranks have joined within 5 s");
        assertThat(failed(waited, waited, stopped)).contains(line);
        WorkerResult broken = Ends.notJoined("its process ended before it joined", Ends.of(0, 1));
        assertThat(failed(broken, broken, stopped, Ends.stopped(2, 143)))
                .as("it did not fail for want of others")
                .noneMatch(each -> each.contains("had not joined"));
        assertThat(report(late, stopped)).as("a program that never joins").noneMatch(each -> each.contains("joined"));
    }

    @Test
    void stackThatTheConsoleHasShownIsNotToldAgain() {
        String message = "io.jrun.comm.CommException: PEER_LOST: rank 1 was lost";
        WorkerResult failed = Ends.withTail(
                Ends.withError(0, 1, false, message),
                "Exception in thread \"main\" " + message,
                "\tat app.Main.main(Main.java:7)");
        JobOutcome outcome = new JobOutcome(Optional.of(new StopCause.WorkerFailed(failed)), List.of(failed), 0);
        assertThat(FailureReport.ofShown(outcome, LOGS, console(true)))
                .containsExactly(
                        "jrun: first failure: rank 0 on node1 exited with code 1 (pid 1000, after 1.3 s)",
                        "  " + message,
                        "  its stack is above, and in /logs/run/attempt-0/rank-0000/stderr.log",
                        "  logs: /logs/run/attempt-0/rank-0000",
                        "  what each rank did last: jrun flight-recorder run");
        assertThat(FailureReport.ofShown(outcome, LOGS, console(false)))
                .isEqualTo(FailureReport.of(outcome, LOGS))
                .contains("  \tat app.Main.main(Main.java:7)");
    }

    private static ConsoleSettings console(boolean showsRank0) {
        return new ConsoleSettings(
                StreamChoice.NONE,
                StreamChoice.NONE,
                Optional.empty(),
                showsRank0 ? Optional.empty() : Optional.of(Set.of(1)),
                true,
                Optional.empty(),
                TerminalStreams.NONE);
    }

    @Test
    void nodesOfAJobAreSaidToHaveBeenTold() {
        WorkerResult first = Ends.of(0, 42);
        JobOutcome outcome = new JobOutcome(Optional.of(new StopCause.WorkerFailed(first)), List.of(first), 0);
        assertThat(FailureReport.of(withBroadcastLatency(outcome, Map.of("h1", 3L, "h2", 12L)), LOGS))
                .contains("  all 2 nodes were informed within 12 ms");
        assertThat(FailureReport.of(withBroadcastLatency(outcome, Map.of("h1", 3L), "h3", "h2"), LOGS))
                .contains("  1 nodes were informed within 3 ms, and h2, h3 did not confirm it");
        assertThat(FailureReport.of(withBroadcastLatency(outcome, Map.of("h1", 3L)), LOGS))
                .noneMatch(line -> line.contains("informed within"));
    }

    private static JobOutcome withBroadcastLatency(JobOutcome outcome, Map<String, Long> millis, String... silent) {
        return new JobOutcome(
                outcome.cause(),
                outcome.ends(),
                outcome.restarts(),
                Optional.of(new FailureBroadcastLatency(millis, List.of(silent))));
    }

    @Test
    void theFilesAreThoseWithWhichAProcessBegan() {
        WorkerResult survivor = Ends.of(3, 42);
        JobOutcome outcome = new JobOutcome(Optional.of(new StopCause.WorkerFailed(survivor)), List.of(survivor), 2);
        assertThat(FailureReport.of(outcome, LOGS)).contains("  logs: /logs/run/attempt-0/rank-0003");
        WorkerResult begun = Ends.in("attempt-2/rank-0001", Ends.stopped(1, 143));
        assertThat(report(Optional.of(new StopCause.TimedOut()), begun)).contains("  logs: /logs/run/attempt-2");
        assertThat(report(Optional.of(new StopCause.TimedOut()), begun, survivor))
                .contains("  logs: /logs/run");
    }

    @Test
    void hungWorkerIsTheFirstFailure() {
        StopCause cause = new StopCause.HungWorker(1, "node2", 7, "has given no sign of life for 5 s");
        assertThat(report(Optional.of(cause), Ends.stopped(1, 137)))
                .containsExactly(
                        "jrun: first failure: rank 1 on node2 (pid 7) has given no sign of life for 5 s (exit code 75)",
                        "  rank 1: SIGKILL (137) after the stop signal",
                        "  logs: /logs/run/attempt-0");
    }

    @Test
    void equalErrorsOfManyRanksAreToldOnceWithTheirCount() {
        WorkerResult first = Ends.of(0, 42);
        WorkerResult[] ends = new WorkerResult[10];
        ends[0] = first;
        for (int rank = 1; rank < 9; rank++) {
            ends[rank] = Ends.withError(rank, 1, true, "io.jrun.comm.CommException: rank 0 was lost");
        }
        ends[9] = Ends.stopped(9, 143);
        assertThat(failed(first, ends))
                .contains("  8 ranks (1-8): exit 1 after the stop signal, io.jrun.comm.CommException: rank 0 was lost")
                .contains("  rank 9: SIGTERM (143) after the stop signal");
    }

    @Test
    void killWithoutAnAccountNamesBothReadingsAndTheOomKiller() {
        WorkerResult first = Ends.of(0, 137);
        assertThat(failed(first, first))
                .contains(
                        "jrun: first failure: rank 0 on node1 ended by SIGKILL, or the program's own exit 137"
                                + " (pid 1000, after 1.3 s)",
                        "  if nobody killed it, look for the kernel's out-of-memory killer: dmesg | grep -i oom");
    }

    @Test
    void killByTheKernelForMemoryIsSaid() {
        WorkerResult first = Ends.oomKilled(0);
        assertThat(failed(first, first, Ends.oomKilled(1)))
                .contains(
                        "jrun: first failure: rank 0 on node1 was killed by the kernel for memory (OOM)"
                                + " (pid 1000, after 1.3 s)",
                        "  rank 1: SIGKILL (137), out of memory")
                .anySatisfy(line -> assertThat(line).startsWith("  the memory of this machine or container ran out"))
                .noneSatisfy(line -> assertThat(line).contains("dmesg"));
    }

    @Test
    void thePlaceInAMeshIsNamed() {
        WorkerResult first = Ends.at("pp=1 dp=0 tp=1", Ends.of(5, 137));
        assertThat(failed(first, first).getFirst())
                .startsWith("jrun: first failure: rank 5 on node1 (pp=1 dp=0 tp=1) ended by SIGKILL");
    }

    @Test
    void lastLinesAndCrashFilesAreShown() {
        WorkerResult first = new WorkerResult(
                0,
                0,
                "node1",
                7,
                134,
                false,
                false,
                "",
                "",
                Optional.empty(),
                List.of("one", "two"),
                List.of("/logs/hs_err_pid7.log"),
                "attempt-0/rank-0000",
                0.04,
                "");
        assertThat(failed(first, first))
                .contains("  its last lines on stderr:", "    | one", "    | two", "  it left /logs/hs_err_pid7.log");
    }

    /** A usage error of a program: each rank prints it, and the report has it once. */
    @Test
    void ranksWithTheSameLastLinesAreNamedInOneLine() {
        String[] lines = {"usage: prog --x", "prog: error: unknown option --y"};
        WorkerResult first = Ends.withTail(Ends.of(2, 2), lines);
        assertThat(failed(
                        first,
                        first,
                        Ends.withTail(Ends.of(0, 2), lines),
                        Ends.withTail(Ends.of(1, 2), lines),
                        Ends.withTail(Ends.of(3, 2), "another line"),
                        Ends.of(4, 2)))
                .containsExactly(
                        "jrun: first failure: rank 2 on node1 exited with code 2 (pid 1002, after 1.3 s)",
                        "  its last lines on stderr:",
                        "    | usage: prog --x",
                        "    | prog: error: unknown option --y",
                        "  2 ranks (0-1): exit 2, the same lines on stderr",
                        "  2 ranks (3-4): exit 2",
                        "  logs: /logs/run/attempt-0/rank-0002");
    }

    @Test
    void stackIsNotRepeatedAmongTheLastLines() {
        String message = "java.lang.IllegalStateException: boom";
        WorkerResult first = Ends.withTail(
                Ends.withError(0, 1, false, message),
                "loading",
                "Exception in thread \"main\"",
                message,
                "\tat app.Main.main(Main.java:7)");
        List<String> lines = failed(first, first);
        assertThat(lines).contains("    | loading");
        assertThat(lines.stream().filter(line -> line.contains("boom"))).hasSize(1);
        assertThat(lines.stream().filter(line -> line.contains("| "))).hasSize(1);
    }

    @Test
    void otherCausesAreNamedWithTheExitCode() {
        assertThat(report(Optional.of(new StopCause.Signalled(StopSignal.INT)), Ends.stopped(0, 130)))
                .containsExactly(
                        "jrun: stopped by SIGINT (exit code 130)",
                        "  rank 0: SIGINT (130) after the stop signal",
                        "  logs: /logs/run/attempt-0");
        assertThat(report(Optional.of(new StopCause.TimedOut()), Ends.stopped(0, 143)))
                .startsWith("jrun: the job took longer than --timeout allows and was stopped (exit code 124)");
        assertThat(report(Optional.of(new StopCause.LostAgent("node2", "reset"))))
                .containsExactly("jrun: lost the agent of node2: reset (exit code 69)");
        assertThat(report(Optional.of(new StopCause.NotOpened("--master-port 1 is taken", true))))
                .containsExactly("jrun: the job could not be started: --master-port 1 is taken (exit code 2)");
        assertThat(report(Optional.of(new StopCause.NotOpened("nobody answers", false))))
                .containsExactly("jrun: the job could not be started: nobody answers (exit code 69)");
    }

    private static List<String> failed(WorkerResult first, WorkerResult... ends) {
        return report(Optional.of(new StopCause.WorkerFailed(first)), ends);
    }

    private static List<String> report(Optional<StopCause> cause, WorkerResult... ends) {
        return FailureReport.of(new JobOutcome(cause, List.of(ends), 0), LOGS);
    }
}
