package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.StopSignal;
import java.util.OptionalInt;

/** The cause of an early stop of a job: the first cause, in the coordinator's order. */
public sealed interface StopCause {
    /** A worker failed. */
    record WorkerFailed(WorkerResult end) implements StopCause {}

    /** A worker hung; {@code why} completes "rank 3 ...". */
    record HungWorker(int rank, String host, long pid, String why) implements StopCause {}

    /**
     * Elastic workers have lost connections to each other, and no worker has ended; {@code why} is the first report.
     */
    record PeersLost(int rank, String host, String why) implements StopCause {}

    /** The launcher received a stop signal. */
    record Signalled(StopSignal signal) implements StopCause {}

    /** The time limit of the job has passed. */
    record TimedOut() implements StopCause {}

    /**
     * The job could not begin.
     *
     * @param refused whether an agent refused the job
     */
    record NotOpened(String why, boolean refused) implements StopCause {}

    /** The agent of a node was lost. */
    record LostAgent(String host, String why) implements StopCause {}

    /** The cause as part of a job event. */
    default JobFailure failure() {
        return switch (this) {
            case WorkerFailed(WorkerResult end) ->
                new JobFailure(
                        "workerFailed",
                        OptionalInt.of(end.rank()),
                        end.host(),
                        end.startError().isEmpty() ? howAndWhy(end) : end.startError());
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

    private static String howAndWhy(WorkerResult end) {
        return end.how() + (end.groupFailure().isEmpty() ? "" : ": " + end.groupFailure());
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
