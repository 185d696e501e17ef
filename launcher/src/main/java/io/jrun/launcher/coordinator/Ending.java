package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.JobAction.Abort;
import io.jrun.launcher.coordinator.JobAction.After;
import io.jrun.launcher.coordinator.JobAction.GiveUp;
import io.jrun.launcher.coordinator.JobAction.Rest;
import io.jrun.launcher.coordinator.JobAction.Say;
import io.jrun.launcher.coordinator.JobAction.Stop;
import io.jrun.launcher.coordinator.JobEvent.GraceIsOver;
import io.jrun.launcher.coordinator.JobEvent.JoinTimeIsOver;
import io.jrun.launcher.coordinator.JobEvent.LastCallIsOver;
import io.jrun.launcher.coordinator.JobEvent.NodeCame;
import io.jrun.launcher.coordinator.JobEvent.NodeGone;
import io.jrun.launcher.coordinator.JobEvent.NodeJoined;
import io.jrun.launcher.coordinator.JobEvent.ParkIsUnexplained;
import io.jrun.launcher.coordinator.JobEvent.RestartIsOld;
import io.jrun.launcher.coordinator.JobEvent.SignalCame;
import io.jrun.launcher.coordinator.JobEvent.TimeIsUp;
import io.jrun.launcher.coordinator.JobEvent.WorkerElastic;
import io.jrun.launcher.coordinator.JobEvent.WorkerEnded;
import io.jrun.launcher.coordinator.JobEvent.WorkerLeaving;
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
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

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
        boolean asked = cause instanceof Signalled;
        return begin(new Stopping(state.ledger(), state.round(), Optional.of(cause), again, asked), signal, why);
    }

    /** Ends the round since the user wants it. The user hears what is waited for, and how long. */
    Transition stopAsAsked(Running state, StopSignal signal) {
        Transition stop = stop(state, new Signalled(signal), signal.number(), "jrun got SIG" + signal.name());
        String most = policy.gracePeriod().toMillis() % 1000 == 0
                ? policy.gracePeriod().toSeconds() + " s"
                : policy.gracePeriod().toMillis() + " ms";
        return stop.state() instanceof Stopping
                ? stop.after(new Say("SIG" + signal.name() + ": waiting up to " + most
                        + " for the workers to end; another signal kills them at once"))
                : stop;
    }

    /** Ends the round without anything being wrong: the nodes change. */
    Transition regroup(Running state) {
        return begin(
                new Stopping(state.ledger(), state.round(), Optional.empty(), true, false),
                JobMachine.SIGTERM,
                "the world changes: all go on from the last commit");
    }

    private Transition begin(Stopping state, int signal, String why) {
        Round round = state.round();
        if (isOver(state)) {
            return over(state);
        }
        return tellToStop(state, signal, policy.gracePeriod().toMillis()).after(new Abort(round.number(), why));
    }

    private static Transition tellToStop(Stopping state, int signal, long grace) {
        Ledger ledger = state.ledger().withStop();
        return Transition.to(
                state.with(ledger),
                new Stop(signal, grace, state.again()),
                new After(new GraceIsOver(ledger.stops()), grace + REPORT_MILLIS));
    }

    private static boolean isOver(Stopping state) {
        return state.again() ? state.round().isOver() : state.round().isReaped();
    }

    private boolean restarts(Ledger ledger, StopCause cause) {
        boolean again = switch (cause) {
            case WorkerFailed(WorkerEnd end) -> end.exitCode() != NO_RESTART;
            case StopCause.WorkerHung _, PeersLost _, NodeLost _ -> true;
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
            case WorkerEnded(int number, WorkerEnd end) ->
                number == round.number() && !round.hasEnded(end.rank()) ? ended(state, end) : same;
            case TimeIsUp() -> state.again() ? forGood(state.because(new TimedOut()), JobMachine.SIGTERM) : same;
            case SignalCame(StopSignal signal) -> signal.endsJob() ? asked(state, signal) : same;
            case GraceIsOver(int stop) -> stop == state.ledger().stops() ? silent(state) : same;
            case NodeJoined _,
                    WorkerElastic _,
                    WorkerLeaving _,
                    JobEvent.WorkerHung _,
                    ParkIsUnexplained _,
                    JoinTimeIsOver _,
                    LastCallIsOver _,
                    RestartIsOld _,
                    JobEvent.FailureIsOld _ -> same;
        };
    }

    private Transition ended(Stopping state, WorkerEnd end) {
        Stopping next = state.with(state.round().withEnd(end));
        if (state.cause().isEmpty() && !end.isSuccess() && !end.afterStop()) {
            StopCause cause = new WorkerFailed(end);
            return restarts(state.ledger(), cause)
                    ? soFar(next.because(cause))
                    : forGood(next.because(cause), JobMachine.SIGTERM);
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
            return soFar(next.because(lost));
        }
        return state.cause().isPresent() && muster.hasHope(ledger)
                ? soFar(next)
                : forGood(next.because(lost), JobMachine.SIGTERM);
    }

    /** What comes while the workers are stopped for a restart, and rules one out, is why the job ends. */
    private Transition forGood(Stopping state, int signal) {
        Stopping last = state.forGood();
        return isOver(last)
                ? over(last)
                : tellToStop(last, signal, policy.gracePeriod().toMillis());
    }

    /** Workers have their grace when the user asks for the first time, whatever they were being stopped for. */
    private Transition asked(Stopping state, StopSignal signal) {
        Stopping next = state.because(state.cause().orElseGet(() -> new Signalled(signal)));
        if (state.asked()) { // who asks again does not want to wait
            return tellToStop(next.forGood(), SIGKILL, 0).after(new Say("killing the workers at once"));
        }
        String what = state.again() ? "they are not started again" : "they have been told to";
        return (state.again() ? forGood(next.asAsked(), signal.number()) : Transition.to(next.asAsked()))
                .after(new Say("waiting for the workers to end: " + what + "; another signal kills them at once"));
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
        Transition after = over(state.with(ledger).with(round));
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
            OptionalInt blamed = blamed(round, cause);
            return blamed.isPresent()
                    ? againAfter(blamed.getAsInt(), next, round, cause, first)
                    : muster.again(next, round, state.cause()).after(first.toArray(JobAction[]::new));
        }
        return round.isReaped() ? finish(ledger, state.cause(), round.ends()) : forGood(state, JobMachine.SIGTERM);
    }

    /** The node whose worker was the first to fail; empty where a node was lost, or workers each other. */
    private static OptionalInt blamed(Round round, StopCause cause) {
        return switch (cause) {
            case WorkerFailed(WorkerEnd end) -> OptionalInt.of(round.lineup().idOf(end.rank()));
            case StopCause.WorkerHung(int rank, String _, long _, String _) ->
                OptionalInt.of(round.lineup().idOf(rank));
            case PeersLost _, NodeLost _, Signalled _, TimedOut _, NotOpened _ -> OptionalInt.empty();
        };
    }

    /** A device or a disk may be broken though the agent is well: a node on which workers fail again and again has to rest. */
    private Transition againAfter(int id, Ledger ledger, Round round, StopCause cause, List<JobAction> first) {
        Ledger next = ledger.withFailure(id);
        first.add(muster.forgettingFailure(id));
        if (!next.present().containsKey(id) || !muster.mayRest(next, id)) {
            return muster.again(next, round, Optional.of(cause)).after(first.toArray(JobAction[]::new));
        }
        String host =
                round.lineup().ranks().nodes().get(round.lineup().nodeRank(id)).host();
        String why = "its workers were the first to fail " + next.failures(id) + " times";
        first.add(new Say("going on without " + host + " for now: " + why));
        first.add(new Rest(id, why));
        return muster.again(next.without(id), round.withNodeEnded(id), Optional.of(cause))
                .after(first.toArray(JobAction[]::new));
    }

    /** Ends a job that waits for nodes; workers that are parked are ended first. */
    Transition giveUp(Gathering state, StopCause cause) {
        Optional<Round> before = state.before();
        if (before.isEmpty() || before.get().isReaped()) {
            return finish(
                    state.ledger(), Optional.of(cause), before.map(Round::ends).orElse(List.of()));
        }
        return begin(
                new Stopping(state.ledger(), before.get(), Optional.of(cause), false, cause instanceof Signalled),
                JobMachine.SIGTERM,
                words(cause));
    }

    static Transition finish(Ledger ledger, Optional<StopCause> cause, List<WorkerEnd> ends) {
        return Transition.to(new Finished(ledger, new Outcome(cause, ends, ledger.restarts())));
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
            case StopCause.WorkerHung(int rank, String host, long _, String why) ->
                "rank " + rank + " on " + host + " " + why;
            case PeersLost(int rank, String host, String why) ->
                "rank " + rank + " on " + host + " has lost the others: " + why;
            case NodeLost(String host, String why) -> "the agent of " + host + " was lost: " + why;
            case Signalled(StopSignal signal) -> "jrun got SIG" + signal.name();
            case TimedOut() -> "the job's time (--timeout) is over";
            case NotOpened(String why, boolean _) -> why;
        };
    }
}
