package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.StopSignal;
import java.util.OptionalInt;

/** Why a job stops before all its workers have ended by themselves: the first cause, by the coordinator's order. */
public sealed interface StopCause {
    /** A worker failed. */
    record WorkerFailed(WorkerResult end) implements StopCause {}

    /** A worker hung; {@code why} completes "rank 3 ...". */
    record HungWorker(int rank, String host, long pid, String why) implements StopCause {}

    /** Workers that can go on have lost each other, though none has ended; {@code why} is what the first of them noticed. */
    record PeersLost(int rank, String host, String why) implements StopCause {}

    /** jrun was told to stop. */
    record Signalled(StopSignal signal) implements StopCause {}

    /** The job's time is over. */
    record TimedOut() implements StopCause {}

    /**
     * The job never began.
     *
     * @param refused an agent answered, and said that it cannot do what was asked for
     */
    record NotOpened(String why, boolean refused) implements StopCause {}

    /** A node's agent is gone. */
    record LostAgent(String host, String why) implements StopCause {}

    /** The cause as events name it. */
    default JobFailure failure() {
        return switch (this) {
            case WorkerFailed(WorkerResult end) ->
                new JobFailure(
                        "workerFailed",
                        OptionalInt.of(end.rank()),
                        end.host(),
                        end.startError().isEmpty() ? end.how() : end.startError());
            case HungWorker(int rank, String host, long _, String why) ->
                new JobFailure("workerHung", OptionalInt.of(rank), host, why);
            case PeersLost(int rank, String host, String why) ->
                new JobFailure("peersLost", OptionalInt.of(rank), host, why);
            case Signalled(StopSignal signal) ->
                new JobFailure("signal", OptionalInt.empty(), "", "SIG" + signal.name());
            case TimedOut() -> new JobFailure("timeout", OptionalInt.empty(), "", "");
            case NotOpened(String why, boolean _) -> new JobFailure("notStarted", OptionalInt.empty(), "", why);
            case LostAgent(String host, String why) -> new JobFailure("agentLost", OptionalInt.empty(), host, why);
        };
    }

    /** The exit code of jrun for this cause. */
    default int exitCode() {
        return switch (this) {
            case WorkerFailed(WorkerResult end) -> end.exitCode() == 0 ? 1 : end.exitCode() & 0xff;
            case HungWorker _, PeersLost _ -> ExitCode.STALLED;
            case Signalled(StopSignal signal) -> ExitCode.of(signal);
            case TimedOut() -> ExitCode.TIMED_OUT;
            case NotOpened(String _, boolean refused) -> refused ? ExitCode.USAGE : ExitCode.LOST;
            case LostAgent _ -> ExitCode.LOST;
        };
    }
}
