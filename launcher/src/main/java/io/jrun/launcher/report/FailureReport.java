package io.jrun.launcher.report;

import io.jrun.comm.record.RankRanges;
import io.jrun.launcher.coordinator.ExitCodeDescription;
import io.jrun.launcher.coordinator.JobOutcome;
import io.jrun.launcher.coordinator.StopCause;
import io.jrun.launcher.coordinator.WorkerResult;
import io.jrun.launcher.job.ConsoleSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/** The report of a failed job on stderr: the first failure, once, and where to find more. */
public final class FailureReport {
    private static final int MAX_STACK_LINES = 40;

    /** The limit of listed ranks that have not joined. The state of one rank usually explains the others. */
    private static final int MAX_NOT_JOINED = 16;

    private static final int KILLED = 128 + 9;
    private static final String STDERR = "stderr.log";
    private static final String OOM_ADVICE = "the memory of this machine or container ran out: fewer workers, smaller"
            + " batches, a smaller heap (--jvm-opts=-Xmx...), or a higher limit";

    private final Path jobLogs;
    private final Predicate<WorkerResult> stderrShown;
    private final List<String> lines = new ArrayList<>();

    /** The last lines of the failed worker, as the report has shown them. */
    private List<String> shownTail = List.of();

    private FailureReport(Path jobLogs, Predicate<WorkerResult> stderrShown) {
        this.jobLogs = jobLogs;
        this.stderrShown = stderrShown;
    }

    /**
     * Returns the lines of the report, empty if the job succeeded.
     *
     * @param jobLogs the log folder of the job
     */
    public static List<String> of(JobOutcome outcome, Path jobLogs) {
        return new FailureReport(jobLogs, _ -> false).of(outcome);
    }

    /**
     * Returns the report for a console that has shown the workers' stderr. The report does not repeat a stack that the
     * console has shown.
     */
    public static List<String> ofShown(JobOutcome outcome, Path jobLogs, ConsoleSettings console) {
        return new FailureReport(jobLogs, end -> console.printsStderr(end.rank(), end.localRank())).of(outcome);
    }

    private List<String> of(JobOutcome outcome) {
        outcome.cause().ifPresent(cause -> add(cause, outcome));
        return lines;
    }

    private void add(StopCause cause, JobOutcome outcome) {
        switch (cause) {
            case StopCause.WorkerFailed(WorkerResult end) -> failed(end, outcome);
            case StopCause.HungWorker(int rank, String host, long pid, String why) ->
                stopped("first failure: rank " + rank + " on " + host + " (pid " + pid + ") " + why, outcome);
            case StopCause.PeersLost(int rank, String host, String why) ->
                stopped("first failure: rank " + rank + " on " + host + " has lost its peers: " + why, outcome);
            case StopCause.Signalled(var signal) -> stopped("stopped by SIG" + signal.name(), outcome);
            case StopCause.TimedOut() -> stopped("the job took longer than --timeout allows and was stopped", outcome);
            case StopCause.NotOpened notOpened -> stopped("the job could not be started: " + notOpened.text(), outcome);
            case StopCause.LostAgent(String host, String why) ->
                stopped("lost the agent of " + host + ": " + why, outcome);
        }
    }

    private void stopped(String what, JobOutcome outcome) {
        lines.add("jrun: " + what + " (exit code " + outcome.exitCode() + ")");
        failureBroadcast(outcome);
        notJoined(outcome.ends());
        others(outcome.ends(), "");
        if (!outcome.ends().isEmpty()) {
            lines.add("  logs: " + folderOf(outcome.ends()));
        }
    }

    /** The report is about this failure of a worker. */
    private void failureBroadcast(JobOutcome outcome) {
        outcome.broadcastLatency()
                .filter(broadcast ->
                        broadcast.millis().size() + broadcast.silent().size() > 1)
                .ifPresent(broadcast -> lines.add("  " + broadcast.words()));
    }

    private void failed(WorkerResult end, JobOutcome outcome) {
        String who = "rank " + end.rank() + " on " + end.host() + " ";
        if (end.groupFailure().isEmpty()) {
            lines.add("jrun: first failure: " + who + how(end));
        } else { // the rank that reports the failure is not the rank that caused the failure
            lines.add("jrun: first failure: " + end.groupFailure());
            lines.add("  reported by " + who.strip() + ", which " + how(end));
        }
        if (outcome.restarts() > 0) {
            lines.add("  the job was restarted " + times(outcome.restarts()) + " before");
        }
        if (end.startError().isEmpty()) { // no node has workers to inform
            failureBroadcast(outcome);
        }
        end.error().ifPresent(error -> error(end, error));
        if (end.oomKilled()) {
            lines.add("  " + OOM_ADVICE);
        } else if (end.error().isPresent()) {
            OutOfMemoryAdvice.of(end.error().get().message()).ifPresent(advice -> lines.add("  " + advice));
        } else if (end.exitCode() == KILLED && !end.afterStop() && end.error().isEmpty()) {
            lines.add("  if nobody killed it, look for the kernel's out-of-memory killer: dmesg | grep -i oom");
        }
        shownTail = tailBesidesTheStack(end);
        if (!shownTail.isEmpty()) {
            lines.add("  its last lines on stderr:");
            shownTail.forEach(line -> lines.add("    | " + line));
        }
        end.artifacts().forEach(path -> lines.add("  it left " + path));
        if (end.notJoined().isEmpty()) { // the rank may have failed because others have not joined
            notJoined(outcome.ends());
        }
        List<WorkerResult> others = outcome.ends().stream()
                .filter(other -> other.rank() != end.rank())
                .toList();
        notStartedEither(end, others);
        others(others.stream().filter(other -> !isSameStartError(end, other)).toList(), end.groupFailure());
        lines.add("  logs: " + jobLogs.resolve(end.logFolder()));
        if (outcome.ends().stream().anyMatch(FailureReport::failedInACollective)) {
            lines.add("  what each rank did last: jrun flight-recorder " + jobLogs.getFileName());
        }
    }

    /** A cause that keeps many ranks from starting, as a missing image, appears once. */
    private void notStartedEither(WorkerResult end, List<WorkerResult> others) {
        NavigableSet<Integer> same = new TreeSet<>();
        others.stream().filter(other -> isSameStartError(end, other)).forEach(other -> same.add(other.rank()));
        if (!same.isEmpty()) {
            lines.add("  " + RankRanges.withNoun(same) + ": could not be started either, for the same reason");
        }
    }

    private static boolean isSameStartError(WorkerResult end, WorkerResult other) {
        return !end.startError().isEmpty() && end.startError().equals(other.startError());
    }

    /** Whether the failure was in a collective. Only then do dumps of ranks say more than their stacks. */
    private static boolean failedInACollective(WorkerResult end) {
        return end.error()
                .filter(error -> error.message().lines().limit(1).anyMatch(line -> line.contains("CommException")))
                .isPresent();
    }

    /**
     * Names the ranks for which other ranks waited in {@code Distributed.init()}. If no rank has joined, no rank
     * waited.
     */
    private void notJoined(List<WorkerResult> ends) {
        List<WorkerResult> missing =
                ends.stream().filter(end -> !end.notJoined().isEmpty()).toList();
        if (missing.size() == ends.size()) {
            return;
        }
        missing.stream()
                .limit(MAX_NOT_JOINED)
                .forEach(end -> lines.add("  rank " + end.rank() + " on " + end.host() + " (pid " + end.pid()
                        + ") had not joined: " + end.notJoined()));
        if (missing.size() > MAX_NOT_JOINED) {
            lines.add("  " + (missing.size() - MAX_NOT_JOINED) + " more ranks had not joined");
        }
    }

    private static String how(WorkerResult end) {
        return end.startError().isEmpty()
                ? end.how() + " (pid " + end.pid() + ", after " + seconds(end.runSeconds()) + ")"
                : "could not be started: " + end.startError();
    }

    private void error(WorkerResult end, WorkerResult.WorkerError error) {
        List<String> stack = error.stack().lines().toList();
        if (stack.size() > 1 && stderrShown.test(end) && end.stderrTail().contains(stack.getLast())) {
            if (end.groupFailure().isEmpty()) { // else the headline has the message
                error.message().lines().limit(1).forEach(line -> lines.add("  " + line));
            }
            lines.add("  its stack is above, and in "
                    + jobLogs.resolve(end.logFolder()).resolve(STDERR));
        } else {
            stack(error.message(), error.stack());
        }
    }

    private void stack(String message, String stack) {
        List<String> text = stack.lines().toList();
        boolean repeats = !text.isEmpty()
                && !message.isEmpty()
                && text.getFirst().startsWith(message.lines().findFirst().orElse(""));
        if (!repeats) {
            message.lines().forEach(line -> lines.add("  " + line));
        }
        text.stream().limit(MAX_STACK_LINES).forEach(line -> lines.add("  " + line));
        if (text.size() > MAX_STACK_LINES) {
            lines.add("  ... " + (text.size() - MAX_STACK_LINES) + " more lines in its error.json");
        }
    }

    /**
     * Removes the exception from the last lines: a JVM prints on stderr the exception that the error record has too.
     */
    private static List<String> tailBesidesTheStack(WorkerResult end) {
        Set<String> shown = new HashSet<>();
        end.error().ifPresent(error -> {
            error.message().lines().forEach(shown::add);
            error.stack().lines().forEach(shown::add);
        });
        return end.stderrTail().stream()
                .filter(line -> !shown.contains(line))
                .filter(line -> shown.isEmpty() || !line.startsWith("Exception in thread "))
                .toList();
    }

    /**
     * Reports the other ranks. Ranks that ended in the same way share one line.
     *
     * @param reported the failure of a group that the report has named; empty if there is none
     */
    private void others(List<WorkerResult> ends, String reported) {
        Map<String, NavigableSet<Integer>> groups = new LinkedHashMap<>();
        for (WorkerResult end : ends) {
            groups.computeIfAbsent(summary(end, reported), _ -> new TreeSet<>()).add(end.rank());
        }
        groups.forEach((summary, ranks) -> lines.add("  " + RankRanges.withNoun(ranks) + ": " + summary));
    }

    private String summary(WorkerResult end, String reported) {
        if (!end.startError().isEmpty()) {
            return "could not be started: " + end.startError();
        }
        String error = end.error()
                .map(record -> ", "
                        + (record.crash() + record.message())
                                .lines()
                                .findFirst()
                                .orElse(""))
                .orElse("");
        if (!reported.isEmpty() && end.groupFailure().equals(reported)) {
            error = ", the same failure";
        } else if (error.isEmpty() && !shownTail.isEmpty() && end.stderrTail().equals(shownTail)) {
            error = ", the same lines on stderr";
        }
        String how = ExitCodeDescription.brief(end.exitCode()) + (end.oomKilled() ? ", out of memory" : "");
        return how + (end.afterStop() ? " after the stop signal" : "") + error;
    }

    /** The folder of the attempt if all known files are in it, else the folder of the job. */
    private Path folderOf(List<WorkerResult> ends) {
        List<Path> attempts = ends.stream()
                .map(WorkerResult::logFolder)
                .filter(folder -> !folder.isEmpty())
                .map(folder -> jobLogs.resolve(folder).resolveSibling(""))
                .distinct()
                .toList();
        return attempts.size() == 1 ? attempts.getFirst() : jobLogs;
    }

    private static String times(int count) {
        return count == 1 ? "once" : count + " times";
    }

    private static String seconds(double seconds) {
        return Math.round(seconds * 10) / 10.0 + " s";
    }
}
