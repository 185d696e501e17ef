package io.jrun.agent.worker;

import io.jrun.agent.proto.ErrorRecord;
import java.util.List;
import java.util.Optional;

/**
 * What is known about a worker that has ended.
 *
 * @param pid 0 if it could not be started
 * @param exitCode as waitpid tells it: the program's own, or 128 + signal
 * @param afterStop it had been told to stop before it ended
 * @param startError why it could not be started, empty otherwise
 * @param error the worker's own account
 * @param stderrTail its last lines
 * @param artifacts crash reports and heap dumps
 * @param runSeconds from fork to waitpid
 */
public record WorkerExit(
        long pid,
        int exitCode,
        boolean afterStop,
        String startError,
        Optional<ErrorRecord> error,
        List<String> stderrTail,
        List<String> artifacts,
        double runSeconds) {
    /** Exit code of a command that was found but could not be executed, as shells give it. */
    private static final int CANNOT_EXECUTE = 126;

    /** The end of a worker that never ran. */
    public static WorkerExit notStarted(String reason) {
        return new WorkerExit(0, CANNOT_EXECUTE, false, reason, Optional.empty(), List.of(), List.of(), 0);
    }
}
