package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.CoordinatorAction.CoolDownNode;
import io.jrun.launcher.coordinator.CoordinatorAction.FailCollectives;
import io.jrun.launcher.coordinator.CoordinatorAction.PrintNotice;
import io.jrun.launcher.coordinator.CoordinatorAction.ReleaseNode;
import io.jrun.launcher.coordinator.CoordinatorAction.Schedule;
import io.jrun.launcher.coordinator.CoordinatorAction.StopRound;
import io.jrun.launcher.coordinator.CoordinatorInput.GracePeriodEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.JobTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.JoinTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.LastCallEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeOpened;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeUnavailable;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeWorkersJoined;
import io.jrun.launcher.coordinator.CoordinatorInput.ParkUnexplained;
import io.jrun.launcher.coordinator.CoordinatorInput.RestartExpired;
import io.jrun.launcher.coordinator.CoordinatorInput.SignalReceived;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerElastic;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerLeaving;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessParked;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessStarted;
import io.jrun.launcher.coordinator.JobState.AwaitingNodes;
import io.jrun.launcher.coordinator.JobState.Finished;
import io.jrun.launcher.coordinator.JobState.RoundRunning;
import io.jrun.launcher.coordinator.JobState.Stopping;
import io.jrun.launcher.coordinator.StopCause.LostAgent;
import io.jrun.launcher.coordinator.StopCause.NotOpened;
import io.jrun.launcher.coordinator.StopCause.PeersLost;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.coordinator.StopCause.WorkerFailed;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** The part of {@link JobMachine} that ends a round and decides what follows. */
final class RoundEnd {
    /** After the grace period and this time, an agent that has not reported the end of its workers counts as lost. */
    static final long REPORT_MILLIS = 10_000;

    private static final int SIGKILL = 9;

    /**
     * A worker with one of these exit codes is not started again: 65 (EX_DATAERR of sysexits.h), and 2, with which
     * programs end for arguments and files that they cannot use. A restart would meet the same ones.
     */
    private static final Set<Integer> NO_RESTART = Set.of(2, 65);

    private final StopPolicy policy;
    private final RoundStart roundStart;

    RoundEnd(StopPolicy policy, RoundStart roundStart) {
        this.policy = policy;
        this.roundStart = roundStart;
    }

    /** Ends the round for {@code cause}. The workers' collectives fail with {@code why}. */
    Transition stop(RoundRunning state, StopCause cause, int signal, String why) {
        boolean again = restarts(state.jobProgress(), cause);
        boolean byUser = cause instanceof Signalled;
        return begin(new Stopping(state.jobProgress(), state.round(), Optional.of(cause), again, byUser), signal, why);
    }

    /** Ends the round at the user's request. Prints the length of the grace period. */
    Transition stopAsAsked(RoundRunning state, StopSignal signal) {
        Transition stop = stop(state, new Signalled(signal), signal.number(), "jrun got SIG" + signal.name());
        String most = policy.gracePeriod().toMillis() % 1000 == 0
                ? policy.gracePeriod().toSeconds() + " s"
                : policy.gracePeriod().toMillis() + " ms";
        return stop.state() instanceof Stopping
                ? stop.after(new PrintNotice("SIG" + signal.name() + ": waiting up to " + most
                        + " for the workers to end; another signal kills them at once"))
                : stop;
    }

    /** Ends the round without a failure, because the nodes change. */
    Transition regroup(RoundRunning state) {
        return begin(
                new Stopping(state.jobProgress(), state.round(), Optional.empty(), true, false),
                JobMachine.SIGTERM,
                "the nodes of the job change: all workers continue from their last commit");
    }

    private Transition begin(Stopping state, int signal, String why) {
        Round round = state.round();
        if (isOver(state)) {
            return over(state);
        }
        return stopWorkers(state, signal, policy.gracePeriod().toMillis())
                .after(new FailCollectives(round.number(), why));
    }

    private static Transition stopWorkers(Stopping state, int signal, long grace) {
        JobProgress jobProgress = state.jobProgress().withStop();
        return Transition.to(
                state.with(jobProgress),
                new StopRound(signal, grace, state.again()),
                new Schedule(new GracePeriodEnded(jobProgress.stops()), grace + REPORT_MILLIS));
    }

    private static boolean isOver(Stopping state) {
        return state.again() ? state.round().isOver() : state.round().isReaped();
    }

    private boolean restarts(JobProgress jobProgress, StopCause cause) {
        boolean again = switch (cause) {
            case WorkerFailed(WorkerResult end) -> !NO_RESTART.contains(end.exitCode());
            case StopCause.HungWorker _, PeersLost _, LostAgent _ -> true;
            case Signalled _, TimedOut _, NotOpened _ -> false;
        };
        return again && roundStart.mayRestart(jobProgress);
    }

    Transition next(Stopping state, CoordinatorInput event) {
        Round round = state.round();
        Transition same = Transition.to(state);
        return switch (event) {
            case NodeOpened(int id, Node node) ->
                roundStart
                        .admit(state, id, node)
                        .map(Transition::to)
                        .orElseGet(() -> Transition.to(state, new ReleaseNode(id, "the job does not need this node")));
            case NodeUnavailable(int id, String _, String why, boolean _) -> gone(state, id, why);
            case WorkerProcessStarted(int number, int rank, long pid) ->
                number == round.number() ? Transition.to(state.with(round.withPid(rank, pid))) : same;
            case WorkerProcessParked(int number, int rank, long pid, String _) ->
                number == round.number() ? soFar(state.with(round.withParked(rank, pid))) : same;
            case WorkerProcessEnded(int number, WorkerResult end) ->
                number == round.number() && !round.hasEnded(end.rank()) ? ended(state, end) : same;
            case JobTimeout() -> state.again() ? forGood(state.because(new TimedOut()), JobMachine.SIGTERM) : same;
            case SignalReceived(StopSignal signal) -> signal.endsJob() ? stopByUser(state, signal) : same;
            case GracePeriodEnded(int stop) -> stop == state.jobProgress().stops() ? silent(state) : same;
            case NodeWorkersJoined _,
                    WorkerElastic _,
                    WorkerLeaving _,
                    CoordinatorInput.WorkerHung _,
                    ParkUnexplained _,
                    JoinTimeout _,
                    LastCallEnded _,
                    RestartExpired _,
                    CoordinatorInput.FailureExpired _ -> same;
        };
    }

    private Transition ended(Stopping state, WorkerResult end) {
        Stopping next = state.with(state.round().withEnd(end));
        if (state.cause().isEmpty() && !end.isSuccess() && !end.afterStop()) {
            StopCause cause = new WorkerFailed(end);
            return restarts(state.jobProgress(), cause)
                    ? soFar(next.because(cause))
                    : forGood(next.because(cause), JobMachine.SIGTERM);
        }
        return soFar(next);
    }

    private Transition gone(Stopping state, int id, String why) {
        Round round = state.round();
        JobProgress jobProgress = state.jobProgress().without(id);
        if (!round.membership().has(id)) {
            return Transition.to(state.with(jobProgress));
        }
        Stopping next = state.with(jobProgress).with(round.withNodeEnded(id));
        if (!state.again()) {
            return soFar(next);
        }
        StopCause lost = new LostAgent(
                round.membership()
                        .ranks()
                        .nodes()
                        .get(round.membership().nodeRank(id))
                        .host(),
                why);
        if (state.cause().isEmpty() && restarts(jobProgress, lost)) {
            return soFar(next.because(lost));
        }
        return state.cause().isPresent() && roundStart.hasHope(jobProgress)
                ? soFar(next)
                : forGood(next.because(lost), JobMachine.SIGTERM);
    }

    /**
     * An event that rules out a restart while the workers stop for the restart becomes the cause of the end of the job.
     */
    private Transition forGood(Stopping state, int signal) {
        Stopping last = state.forGood();
        return isOver(last)
                ? over(last)
                : stopWorkers(last, signal, policy.gracePeriod().toMillis());
    }

    /**
     * The first stop request of the user leaves the workers their grace period, also during a stop for another reason.
     */
    private Transition stopByUser(Stopping state, StopSignal signal) {
        Stopping next = state.because(state.cause().orElseGet(() -> new Signalled(signal)));
        if (state.byUser()) { // the second request ends the grace period
            return stopWorkers(next.forGood(), SIGKILL, 0).after(new PrintNotice("killing the workers at once"));
        }
        String what = state.again() ? "no restart follows" : "the stop signal was sent before";
        return (state.again()
                        ? forGood(next.withUserRequest(), signal.number())
                        : Transition.to(next.withUserRequest()))
                .after(new PrintNotice(
                        "waiting for the workers to end: " + what + "; another signal kills them at once"));
    }

    /** The agents have not reported in time: each was lost, or its workers cannot be killed. */
    private Transition silent(Stopping state) {
        Round round = state.round();
        JobProgress jobProgress = state.jobProgress();
        List<CoordinatorAction> actions = new ArrayList<>();
        for (int id : round.membership().ids()) {
            Round without = round.withNodeEnded(id);
            boolean owes = round.membership().ranks().onNode(round.membership().nodeRank(id)).stream()
                    .anyMatch(place -> !state.round().hasEnded(place.rank())
                            && !(state.again() && state.round().parked().has(place.rank())));
            if (owes) {
                round = without;
                jobProgress = jobProgress.without(id);
                actions.add(new ReleaseNode(id, "the agent did not report the end of its workers in time"));
            }
        }
        actions.add(new PrintNotice(
                "some agents did not report the end of their workers in time; these workers may still run"));
        Transition after = over(state.with(jobProgress).with(round));
        return after.after(actions.toArray(CoordinatorAction[]::new));
    }

    private Transition soFar(Stopping state) {
        return isOver(state) ? over(state) : Transition.to(state);
    }

    private Transition over(Stopping state) {
        Round round = state.round();
        JobProgress jobProgress = state.jobProgress();
        if (state.cause().isEmpty()) {
            return round.isReaped() && round.ends().stream().allMatch(WorkerResult::isSuccess)
                    ? finish(jobProgress, Optional.empty(), round.ends())
                    : roundStart.again(jobProgress, round, Optional.empty());
        }
        StopCause cause = state.cause().get();
        if (state.again() && restarts(jobProgress, cause)) {
            JobProgress next = jobProgress.withRestart();
            String what = words(cause) + "; restart " + next.restarts() + " of " + policy.maxRestarts();
            List<CoordinatorAction> first = new ArrayList<>(List.of(new PrintNotice(what)));
            first.addAll(roundStart.forgettingRestart());
            OptionalInt blamed = blamed(round, cause);
            return blamed.isPresent()
                    ? againAfter(blamed.getAsInt(), next, round, cause, first)
                    : roundStart.again(next, round, state.cause()).after(first.toArray(CoordinatorAction[]::new));
        }
        return round.isReaped() ? finish(jobProgress, state.cause(), round.ends()) : forGood(state, JobMachine.SIGTERM);
    }

    /** The node of the first failed worker; empty if a node was lost, or if workers lost each other. */
    private static OptionalInt blamed(Round round, StopCause cause) {
        return switch (cause) {
            case WorkerFailed(WorkerResult end) ->
                OptionalInt.of(round.membership().idOf(end.rank()));
            case StopCause.HungWorker(int rank, String _, long _, String _) ->
                OptionalInt.of(round.membership().idOf(rank));
            case PeersLost _, LostAgent _, Signalled _, TimedOut _, NotOpened _ -> OptionalInt.empty();
        };
    }

    /** A node whose workers fail too often leaves the job for a cool-down: its device or disk may be broken. */
    private Transition againAfter(
            int id, JobProgress jobProgress, Round round, StopCause cause, List<CoordinatorAction> first) {
        JobProgress next = jobProgress.withFailure(id);
        first.add(roundStart.forgettingFailure(id));
        if (!next.present().containsKey(id) || !roundStart.mayRest(next, id)) {
            return roundStart.again(next, round, Optional.of(cause)).after(first.toArray(CoordinatorAction[]::new));
        }
        String host = round.membership()
                .ranks()
                .nodes()
                .get(round.membership().nodeRank(id))
                .host();
        String why = "its workers were the first to fail " + next.failures(id) + " times";
        first.add(new PrintNotice("continuing without " + host + " for now: " + why));
        first.add(new CoolDownNode(id, why));
        return roundStart
                .again(next.without(id), round.withNodeEnded(id), Optional.of(cause))
                .after(first.toArray(CoordinatorAction[]::new));
    }

    /** Ends a job that waits for nodes. Parked workers are ended first. */
    Transition giveUp(AwaitingNodes state, StopCause cause) {
        Optional<Round> before = state.before();
        if (before.isEmpty() || before.get().isReaped()) {
            return finish(
                    state.jobProgress(),
                    Optional.of(cause),
                    before.map(Round::ends).orElse(List.of()));
        }
        return begin(
                new Stopping(state.jobProgress(), before.get(), Optional.of(cause), false, cause instanceof Signalled),
                JobMachine.SIGTERM,
                words(cause));
    }

    static Transition finish(JobProgress jobProgress, Optional<StopCause> cause, List<WorkerResult> ends) {
        return Transition.to(new Finished(jobProgress, new JobOutcome(cause, ends, jobProgress.restarts())));
    }

    /** A worker's failure in words, for the workers and the user. */
    static String words(WorkerResult end) {
        String who = "rank " + end.rank() + " on " + end.host();
        return end.startError().isEmpty()
                ? who + " " + end.how() + " (pid " + end.pid() + ")"
                : who + " could not be started: " + end.startError();
    }

    /** A cause in words, for the workers and the user. */
    static String words(StopCause cause) {
        return switch (cause) {
            case WorkerFailed(WorkerResult end) -> words(end);
            case StopCause.HungWorker(int rank, String host, long _, String why) ->
                "rank " + rank + " on " + host + " " + why;
            case PeersLost(int rank, String host, String why) ->
                "rank " + rank + " on " + host + " has lost its peers: " + why;
            case LostAgent(String host, String why) -> "the agent of " + host + " was lost: " + why;
            case Signalled(StopSignal signal) -> "jrun got SIG" + signal.name();
            case TimedOut() -> "the time limit of the job (--timeout) has passed";
            case NotOpened notOpened -> notOpened.text();
        };
    }
}
