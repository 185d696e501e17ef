package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.StopSignal;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
     * @param agents the addresses of the agents with this reason; empty if {@code why} is the whole sentence
     * @param refused whether the agents refused the job
     */
    record NotOpened(List<String> agents, String why, boolean refused) implements StopCause {
        private static final int MOST_AGENTS_SHOWN = 8;

        public NotOpened {
            agents = List.copyOf(agents);
        }

        public NotOpened(String why, boolean refused) {
            this(List.of(), why, refused);
        }

        /** Whether {@code other} has agents with the same reason. */
        boolean isAlike(NotOpened other) {
            return !agents.isEmpty() && !other.agents.isEmpty() && refused == other.refused && why.equals(other.why);
        }

        /** This cause with the agents of {@code other} besides its own. */
        NotOpened with(NotOpened other) {
            return new NotOpened(
                    Stream.concat(agents.stream(), other.agents.stream()).toList(), why, refused);
        }

        /** The cause in words, without a full stop. */
        public String text() {
            if (agents.isEmpty()) {
                return why;
            }
            boolean isOne = agents.size() == 1;
            int more = agents.size() - MOST_AGENTS_SHOWN;
            return (isOne ? "the agent at " : "the agents at ")
                    + agents.stream().limit(MOST_AGENTS_SHOWN).collect(Collectors.joining(", "))
                    + (more > 0 ? " and " + more + " more" : "")
                    + (refused ? (isOne ? " refuses the job: " : " refuse the job: ") : " cannot be reached: ")
                    + why;
        }
    }

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
            case NotOpened cause -> new JobFailure("notStarted", OptionalInt.empty(), "", cause.text());
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
            case NotOpened cause -> cause.refused() ? ExitCode.USAGE : ExitCode.LOST;
            case LostAgent _ -> ExitCode.LOST;
        };
    }
}
