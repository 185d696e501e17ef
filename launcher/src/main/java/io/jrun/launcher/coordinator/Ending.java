package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.JobAction.Abort;
import io.jrun.launcher.coordinator.JobAction.After;
import io.jrun.launcher.coordinator.JobAction.Finish;
import io.jrun.launcher.coordinator.JobAction.GiveUp;
import io.jrun.launcher.coordinator.JobAction.Say;
import io.jrun.launcher.coordinator.JobAction.Stop;
import io.jrun.launcher.coordinator.JobEvent.GraceIsOver;
import io.jrun.launcher.coordinator.JobEvent.NodeCame;
import io.jrun.launcher.coordinator.JobEvent.NodeGone;
import io.jrun.launcher.coordinator.JobEvent.SignalCame;
import io.jrun.launcher.coordinator.JobEvent.TimeIsUp;
import io.jrun.launcher.coordinator.JobEvent.WorkerEnded;
import io.jrun.launcher.coordinator.JobEvent.WorkerParked;
import io.jrun.launcher.coordinator.JobEvent.WorkerStarted;
import io.jrun.launcher.coordinator.JobState.Finished;
import io.jrun.launcher.coordinator.JobState.Gathering;
import io.jrun.launcher.coordinator.JobState.Running;
import io.jrun.launcher.coordinator.JobState.Stopping;
import io.jrun.launcher.coordinator.StopCause.NodeLost;
import io.jrun.launcher.coordinator.StopCause.NotOpened;
import io.jrun.launcher.coordinator.StopCause.PeersLost;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.coordinator.StopCause.WorkerFailed;
import io.jrun.launcher.coordinator.StopCause.WorkerHung;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The part of {@link JobMachine} that ends a round, and finds out what comes after it. */
final class Ending {
    /** How long after the grace period an agent may take to report its workers' ends before it counts as lost. */
    static final long REPORT_MILLIS = 10_000;

    private static final int SIGKILL = 9;

    /** With this exit code a worker says that starting it again would be in vain. As EX_DATAERR of sysexits.h. */
    private static final int NO_RESTART = 65;

    private final StopPolicy policy;
    private final Muster muster;

    Ending(StopPolicy policy, Muster muster) {
        this.policy = policy;
        this.muster = muster;
    }

    /** Ends the round for {@code cause}; {@code why} is what the workers are told. */
    Transition stop(Running state, StopCause cause, int signal, String why) {
        boolean again = restarts(state.ledger(), cause);
        return begin(new Stopping(state.ledger(), state.round(), Optional.of(cause), again), signal, why);
    }

    /** Ends the round without anything being wrong: the nodes change. */
    Transition regroup(Running state) {
        return begin(
                new Stopping(state.ledger(), state.round(), Optional.empty(), true),
                JobMachine.SIGTERM,
                "the world changes: all go on from the last commit");
    }

    private Transition begin(Stopping state, int signal, String why) {
        Round round = state.round();
        if (isOver(state)) {
            return over(state);
        }
        long grace = policy.gracePeriod().toMillis();
        return Transition.to(
                state, new Abort(round.number(), why), new Stop(signal, grace, state.again()), watch(round, grace));
    }

    private static After watch(Round round, long grace) {
        return new After(new GraceIsOver(round.number()), grace + REPORT_MILLIS);
    }

    private static boolean isOver(Stopping state) {
        return state.again() ? state.round().isOver() : state.round().isReaped();
    }

    private boolean restarts(Ledger ledger, StopCause cause) {
        boolean again = switch (cause) {
            case WorkerFailed(WorkerEnd end) -> end.exitCode() != NO_RESTART;
            case WorkerHung _, PeersLost _, NodeLost _ -> true;
            case Signalled _, TimedOut _, NotOpened _ -> false;
        };
        return again && muster.mayRestart(ledger);
    }

    Transition next(Stopping state, JobEvent event) {
        Round round = state.round();
        Transition same = Transition.to(state);
        return switch (event) {
            case NodeCame(int id, Node node) ->
                muster.admit(state, id, node)
                        .map(Transition::to)
                        .orElseGet(() -> Transition.to(state, new GiveUp(id, "the job has no use for it")));
            case NodeGone(int id, String _, String why, boolean _) -> gone(state, id, why);
            case WorkerStarted(int number, int rank, long pid) ->
                number == round.number() ? Transition.to(state.with(round.withPid(rank, pid))) : same;
            case WorkerParked(int number, int rank, long pid, String _) ->
                number == round.number() ? soFar(state.with(round.withParked(rank, pid))) : same;
            case WorkerEnded(int number, WorkerEnd end) -> number == round.number() ? ended(state, end) : same;
            case TimeIsUp() -> state.again() ? forGood(state, new TimedOut()) : same;
            case SignalCame(StopSignal signal) -> signal.endsJob() ? hurry(state, signal) : same;
            case GraceIsOver(int number) -> number == round.number() ? silent(state) : same;
            default -> same;
        };
    }

    private Transition ended(Stopping state, WorkerEnd end) {
        Stopping next = state.with(state.round().withEnd(end));
        if (state.cause().isEmpty() && !end.isSuccess() && !end.afterStop()) {
            StopCause cause = new WorkerFailed(end);
            return restarts(state.ledger(), cause)
                    ? soFar(new Stopping(next.ledger(), next.round(), Optional.of(cause), true))
                    : forGood(next, cause);
        }
        return soFar(next);
    }

    private Transition gone(Stopping state, int id, String why) {
        Round round = state.round();
        Ledger ledger = state.ledger().without(id);
        if (!round.lineup().has(id)) {
            return Transition.to(state.with(ledger));
        }
        Stopping next = state.with(ledger).with(round.withNodeEnded(id));
        if (!state.again()) {
            return soFar(next);
        }
        StopCause lost = new NodeLost(
                round.lineup().ranks().nodes().get(round.lineup().nodeRank(id)).host(), why);
        if (state.cause().isEmpty() && restarts(ledger, lost)) {
            return soFar(new Stopping(ledger, next.round(), Optional.of(lost), true));
        }
        return state.cause().isPresent() && muster.hasHope(ledger) ? soFar(next) : forGood(next, lost);
    }

    /** What comes while the workers are stopped for a restart, and rules one out, is why the job ends. */
    private Transition forGood(Stopping state, StopCause cause) {
        Stopping last = state.forGood(cause);
        long grace = policy.gracePeriod().toMillis();
        return isOver(last)
                ? over(last)
                : Transition.to(last, new Stop(JobMachine.SIGTERM, grace, false), watch(state.round(), grace));
    }

    /** Who asks again does not want to wait: the grace period ends now, and nothing is started again. */
    private static Transition hurry(Stopping state, StopSignal signal) {
        StopCause cause = state.cause().orElseGet(() -> new Signalled(signal));
        return Transition.to(state.forGood(cause), new Say("killing the workers at once"), new Stop(SIGKILL, 0, false));
    }

    /** No agent takes this long after SIGKILL unless it is gone or its workers cannot be killed. */
    private Transition silent(Stopping state) {
        Round round = state.round();
        Ledger ledger = state.ledger();
        List<JobAction> actions = new ArrayList<>();
        for (int id : round.lineup().ids()) {
            Round without = round.withNodeEnded(id);
            boolean owes = round.lineup().ranks().onNode(round.lineup().nodeRank(id)).stream()
                    .anyMatch(place -> !state.round().hasEnded(place.rank())
                            && !(state.again() && state.round().parked().has(place.rank())));
            if (owes) {
                round = without;
                ledger = ledger.without(id);
                actions.add(new GiveUp(id, "it did not report its workers' ends in time"));
            }
        }
        actions.add(new Say("some workers' ends were not reported in time; they may still be running"));
        Transition after = over(new Stopping(ledger, round, state.cause(), state.again()));
        return after.after(actions.toArray(JobAction[]::new));
    }

    private Transition soFar(Stopping state) {
        return isOver(state) ? over(state) : Transition.to(state);
    }

    private Transition over(Stopping state) {
        Round round = state.round();
        Ledger ledger = state.ledger();
        if (state.cause().isEmpty()) {
            return round.isReaped() && round.ends().stream().allMatch(WorkerEnd::isSuccess)
                    ? finish(ledger, Optional.empty(), round.ends())
                    : muster.again(ledger, round, Optional.empty());
        }
        StopCause cause = state.cause().get();
        if (state.again() && restarts(ledger, cause)) {
            Ledger next = ledger.withRestart();
            String what = words(cause) + "; restart " + next.restarts() + " of " + policy.maxRestarts();
            List<JobAction> first = new ArrayList<>(List.of(new Say(what)));
            first.addAll(muster.forgettingRestart());
            return muster.again(next, round, state.cause()).after(first.toArray(JobAction[]::new));
        }
        return round.isReaped() ? finish(ledger, state.cause(), round.ends()) : forGood(state, cause);
    }

    /** Ends a job that waits for nodes; workers that are parked are ended first. */
    Transition giveUp(Gathering state, StopCause cause) {
        Optional<Round> before = state.before();
        if (before.isEmpty() || before.get().isReaped()) {
            return finish(
                    state.ledger(), Optional.of(cause), before.map(Round::ends).orElse(List.of()));
        }
        return begin(
                new Stopping(state.ledger(), before.get(), Optional.of(cause), false),
                JobMachine.SIGTERM,
                words(cause));
    }

    static Transition finish(Ledger ledger, Optional<StopCause> cause, List<WorkerEnd> ends) {
        Outcome outcome = new Outcome(cause, ends, ledger.restarts());
        return Transition.to(new Finished(ledger, outcome), new Finish(outcome));
    }

    /** What workers and user are told of a worker's failure. */
    static String words(WorkerEnd end) {
        String who = "rank " + end.rank() + " on " + end.host();
        return end.startError().isEmpty()
                ? who + " " + end.how() + " (pid " + end.pid() + ")"
                : who + " could not be started: " + end.startError();
    }

    /** The same of any cause. */
    static String words(StopCause cause) {
        return switch (cause) {
            case WorkerFailed(WorkerEnd end) -> words(end);
            case WorkerHung(int rank, String host, long _, String why) -> "rank " + rank + " on " + host + " " + why;
            case PeersLost(int rank, String host, String why) ->
                "rank " + rank + " on " + host + " has lost the others: " + why;
            case NodeLost(String host, String why) -> "the agent of " + host + " was lost: " + why;
            case Signalled(StopSignal signal) -> "jrun got SIG" + signal.name();
            case TimedOut() -> "the job's time (--timeout) is over";
            case NotOpened(String why, boolean _) -> why;
        };
    }
}
