package io.jrun.launcher.coordinator;

import java.util.List;
import java.util.Optional;

/** Workers' ends for tests. */
public final class Ends {
    private Ends() {}

    /** A worker that ended with {@code exitCode}. */
    public static WorkerResult of(int rank, int exitCode) {
        return of(rank, exitCode, false, "");
    }

    /** A worker that ended with {@code exitCode} after it had been told to stop. */
    public static WorkerResult stopped(int rank, int exitCode) {
        return of(rank, exitCode, true, "");
    }

    /** A worker that the kernel killed. */
    public static WorkerResult oomKilled(int rank) {
        return of(rank, 137, false, true, "");
    }

    /** A worker that ended with an account of its own. */
    public static WorkerResult withError(int rank, int exitCode, boolean stopped, String message) {
        return of(rank, exitCode, stopped, message);
    }

    /** The same with last lines on stderr. */
    public static WorkerResult withTail(WorkerResult end, String... lines) {
        return copy(end, end.notJoined(), end.error(), List.of(lines), end.logFolder(), end.place());
    }

    /** The same of a worker that has reported its place in a mesh. */
    public static WorkerResult at(String place, WorkerResult end) {
        return copy(end, end.notJoined(), end.error(), end.stderrTail(), end.logFolder(), place);
    }

    /** The same with its files in another folder. */
    public static WorkerResult in(String logFolder, WorkerResult end) {
        return copy(end, end.notJoined(), end.error(), end.stderrTail(), logFolder, end.place());
    }

    /** The same of a worker that had not joined. */
    public static WorkerResult notJoined(String state, WorkerResult end) {
        return copy(end, state, end.error(), end.stderrTail(), end.logFolder(), end.place());
    }

    /** An end of a worker that has left an error of its own making. */
    public static WorkerResult withError(int rank, int exitCode, WorkerResult.WorkerError error) {
        WorkerResult end = of(rank, exitCode);
        return copy(end, end.notJoined(), Optional.of(error), end.stderrTail(), end.logFolder(), end.place());
    }

    private static WorkerResult copy(
            WorkerResult end,
            String notJoined,
            Optional<WorkerResult.WorkerError> error,
            List<String> stderrTail,
            String logFolder,
            String place) {
        return new WorkerResult(
                end.rank(),
                end.localRank(),
                end.host(),
                end.pid(),
                end.exitCode(),
                end.afterStop(),
                end.oomKilled(),
                end.startError(),
                notJoined,
                error,
                stderrTail,
                end.artifacts(),
                logFolder,
                end.runSeconds(),
                place);
    }

    private static WorkerResult of(int rank, int exitCode, boolean stopped, String message) {
        return of(rank, exitCode, stopped, false, message);
    }

    private static WorkerResult of(int rank, int exitCode, boolean stopped, boolean oomKilled, String message) {
        return new WorkerResult(
                rank,
                rank,
                "node1",
                1000 + rank,
                exitCode,
                stopped,
                oomKilled,
                "",
                "",
                message.isEmpty()
                        ? Optional.empty()
                        : Optional.of(
                                new WorkerResult.WorkerError(message, message + "\n\tat app.Main.main(Main.java:7)")),
                List.of(),
                List.of(),
                "attempt-0/rank-000" + rank,
                1.25,
                "");
    }
}
