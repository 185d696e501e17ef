package io.jrun.agent.worker;

import io.jrun.agent.proto.WorkerErrorReport;
import java.util.List;
import java.util.Optional;

/**
 * The known facts about a worker that has ended.
 *
 * @param pid 0 if it could not be started
 * @param exitCode the exit code of waitpid: the program's own, or 128 + signal
 * @param afterStop whether the worker ended after the stop signal
 * @param startError the reason why the worker could not be started, empty otherwise
 * @param error the error record of the worker
 * @param stderrTail the last lines on stderr
 * @param artifacts crash reports and heap dumps
 * @param runSeconds from fork to waitpid
 */
public record WorkerExit(
        long pid,
        int exitCode,
        boolean afterStop,
        String startError,
        Optional<WorkerErrorReport> error,
        List<String> stderrTail,
        List<String> artifacts,
        double runSeconds) {
    /** The exit code of shells for a command that exists but cannot be executed. */
    private static final int CANNOT_EXECUTE = 126;

    /** The exit of a worker that never ran. */
    public static WorkerExit notStarted(String reason) {
        return notStarted(reason, CANNOT_EXECUTE);
    }

    /** The exit of a worker that never ran, with an exit code of shells. */
    public static WorkerExit notStarted(String reason, int exitCode) {
        return new WorkerExit(0, exitCode, false, reason, Optional.empty(), List.of(), List.of(), 0);
    }

    /**
     * The exit with exit code 1 of a worker whose program ended with 0, but whose root could not be saved.
     *
     * @param problem the reason, which the report of the job shows in place of an error of the program
     */
    public WorkerExit notSaved(String problem) {
        WorkerErrorReport report = WorkerErrorReport.newBuilder()
                .setMessage("the program ended with 0, but its root was not saved. " + problem)
                .build();
        return new WorkerExit(pid, 1, afterStop, startError, Optional.of(report), List.of(), artifacts, runSeconds);
    }
}
