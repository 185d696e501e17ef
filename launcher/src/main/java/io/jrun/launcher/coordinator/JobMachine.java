package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.JobAction.Abort;
import io.jrun.launcher.coordinator.JobAction.Checkpoint;
import io.jrun.launcher.coordinator.JobAction.Finish;
import io.jrun.launcher.coordinator.JobAction.Launch;
import io.jrun.launcher.coordinator.JobAction.Peer;
import io.jrun.launcher.coordinator.JobAction.Say;
import io.jrun.launcher.coordinator.JobAction.SendPeers;
import io.jrun.launcher.coordinator.JobAction.Stop;
import io.jrun.launcher.coordinator.JobAction.TellRankLeft;
import io.jrun.launcher.coordinator.JobAction.WatchStop;
import io.jrun.launcher.coordinator.JobEvent.Endpoint;
import io.jrun.launcher.coordinator.JobEvent.GraceIsOver;
import io.jrun.launcher.coordinator.JobEvent.NodeGone;
import io.jrun.launcher.coordinator.JobEvent.NodeJoined;
import io.jrun.launcher.coordinator.JobEvent.SignalCame;
import io.jrun.launcher.coordinator.JobEvent.TimeIsUp;
import io.jrun.launcher.coordinator.JobEvent.WorkerEnded;
import io.jrun.launcher.coordinator.JobEvent.WorkerHung;
import io.jrun.launcher.coordinator.JobEvent.WorkerLeaving;
import io.jrun.launcher.coordinator.JobEvent.WorkerStarted;
import io.jrun.launcher.coordinator.JobState.Finished;
import io.jrun.launcher.coordinator.JobState.Running;
import io.jrun.launcher.coordinator.JobState.Stopping;
import io.jrun.launcher.coordinator.StopCause.NodeLost;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.coordinator.StopCause.WorkerFailed;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The rules of a job, as a pure function from a state and an event to the next state and what to do: who is told what, what
 * counts as the first failure, when workers start again, when the job is over. Stateless and without clock or I/O.
 */
final class JobMachine {
    /** How long after the grace period an agent may take to report its workers' ends before it counts as lost. */
    static final long REPORT_MILLIS = 10_000;

    private static final int SIGTERM = 15;
    private static final int SIGKILL = 9;

    /** With this exit code a worker says that starting it again would be in vain. As EX_DATAERR of sysexits.h. */
    private static final int NO_RESTART = 65;

    /** A state and what has to be done on the way there, in order. */
    record Transition(JobState state, List<JobAction> actions) {
        public Transition {
            actions = List.copyOf(actions);
        }

        private static Transition to(JobState state, JobAction... actions) {
            return new Transition(state, List.of(actions));
        }
    }

    private final RankMap ranks;
    private final StopPolicy policy;

    JobMachine(RankMap ranks, StopPolicy policy) {
        this.ranks = ranks;
        this.policy = policy;
    }

    /** The first state. */
    Transition start() {
        return Transition.to(new Running(Round.first()), new Launch(1, 0));
    }

    /** The state after {@code event}. Events of an earlier round, or after the end, change nothing. */
    Transition next(JobState state, JobEvent event) {
        return switch (state) {
            case Running(Round round) -> running(round, event);
            case Stopping stopping -> stopping(stopping, event);
            case Finished finished -> Transition.to(finished);
        };
    }

    private Transition running(Round round, JobEvent event) {
        Transition same = Transition.to(new Running(round));
        return switch (event) {
            case WorkerStarted(int rank, long pid) -> Transition.to(new Running(round.withPid(rank, pid)));
            case NodeJoined joined -> joined.round() == round.number() ? joined(round, joined) : same;
            case WorkerLeaving(int rank, int number, String how) ->
                number == round.number() ? left(round, rank, how) : same;
            case WorkerEnded(int number, WorkerEnd end) ->
                number == round.number() && !round.hasEnded(end.rank()) ? ended(round, end) : same;
            case WorkerHung hung -> hung.round() == round.number() ? hung(round, hung) : same;
            case NodeGone(int nodeRank, String why) -> nodeGone(round, nodeRank, why);
            case SignalCame(StopSignal signal) -> signalled(round, signal);
            case TimeIsUp() -> stop(round, new TimedOut(), SIGTERM, "the job's time (--timeout) is over");
            case GraceIsOver _ -> same;
        };
    }

    private Transition joined(Round round, NodeJoined event) {
        Round next = round.withJoined(event.nodeRank(), event.endpoints());
        if (round.joined().containsKey(event.nodeRank())
                || next.joined().size() < ranks.nodes().size()) {
            return Transition.to(new Running(next));
        }
        return Transition.to(new Running(next), new SendPeers(round.number(), peers(next)));
    }

    private List<Peer> peers(Round round) {
        List<Peer> peers = new ArrayList<>();
        for (List<Endpoint> endpoints : round.joined().values()) {
            for (Endpoint endpoint : endpoints) {
                Placement place = ranks.placement(endpoint.rank());
                Node node = ranks.nodes().get(place.nodeRank());
                peers.add(new Peer(
                        place.rank(),
                        place.nodeRank(),
                        place.localRank(),
                        node.host(),
                        node.address(),
                        endpoint.tcpPort(),
                        endpoint.pid()));
            }
        }
        peers.sort(Comparator.comparingInt(Peer::rank));
        return peers;
    }

    private Transition left(Round round, int rank, String how) {
        return round.left().contains(rank)
                ? Transition.to(new Running(round))
                : Transition.to(new Running(round.withLeft(rank)), new TellRankLeft(round.number(), rank, how));
    }

    private Transition ended(Round round, WorkerEnd end) {
        Round next = round.withEnd(end);
        if (!end.isSuccess() && end.afterStop()) { // nobody here has told it to stop
            return lost(next, end.host(), "it was stopped, and its workers with it");
        }
        if (!end.isSuccess()) {
            return stop(next, new WorkerFailed(end), SIGTERM, failure(end));
        }
        if (next.ends().size() == ranks.worldSize()) {
            return finish(new Outcome(Optional.empty(), next.ends(), next.restartCount()));
        }
        return left(next, end.rank(), "exited with code 0");
    }

    private Transition hung(Round round, WorkerHung event) {
        String host = ranks.placement(event.rank()).host();
        return stop(
                round,
                new StopCause.WorkerHung(event.rank(), host, event.pid(), event.why()),
                SIGTERM,
                "rank " + event.rank() + " on " + host + " " + event.why());
    }

    private static String failure(WorkerEnd end) {
        String who = "rank " + end.rank() + " on " + end.host();
        return end.startError().isEmpty()
                ? who + " " + end.how() + " (pid " + end.pid() + ")"
                : who + " could not be started: " + end.startError();
    }

    private Transition nodeGone(Round round, int nodeRank, String why) {
        return lost(withNodeEnded(round, nodeRank), ranks.nodes().get(nodeRank).host(), why);
    }

    private Transition lost(Round round, String host, String why) {
        return stop(round, new NodeLost(host, why), SIGTERM, "the agent of " + host + " was lost: " + why);
    }

    private Round withNodeEnded(Round round, int nodeRank) {
        Round next = round;
        for (Placement place : ranks.onNode(nodeRank)) {
            if (!next.hasEnded(place.rank())) {
                next = next.withEnd(lost(round, place));
            }
        }
        return next;
    }

    private static WorkerEnd lost(Round round, Placement place) {
        return new WorkerEnd(
                place.rank(),
                place.localRank(),
                place.host(),
                round.pids().getOrDefault(place.rank(), 0L),
                128 + SIGKILL,
                true,
                false,
                "",
                Optional.empty(),
                List.of(),
                List.of(),
                0);
    }

    private Transition signalled(Round round, StopSignal signal) {
        return signal.endsJob()
                ? stop(round, new Signalled(signal), signal.number(), "jrun got SIG" + signal.name())
                : Transition.to(new Running(round), new Checkpoint(signal.number()));
    }

    private Transition stop(Round round, StopCause cause, int signal, String why) {
        if (round.ends().size() == ranks.worldSize()) {
            return over(round, cause, false, List.of());
        }
        long grace = policy.gracePeriod().toMillis();
        return Transition.to(
                new Stopping(round, cause, false),
                new Abort(round.number(), why),
                new Stop(signal, grace),
                new WatchStop(round.number(), grace + REPORT_MILLIS));
    }

    private Transition stopping(Stopping state, JobEvent event) {
        Round round = state.round();
        Transition same = Transition.to(state);
        return switch (event) {
            case WorkerStarted(int rank, long pid) ->
                Transition.to(new Stopping(round.withPid(rank, pid), state.cause(), state.hurried()));
            case NodeJoined _, WorkerLeaving _, WorkerHung _ -> same;
            case TimeIsUp() -> Transition.to(withoutRestart(state, new TimedOut()));
            case WorkerEnded(int number, WorkerEnd end) ->
                number == round.number() && !round.hasEnded(end.rank())
                        ? stoppedSoFar(round.withEnd(end), state)
                        : same;
            case NodeGone(int nodeRank, String why) ->
                stoppedSoFar(
                        withNodeEnded(round, nodeRank),
                        withoutRestart(
                                state, new NodeLost(ranks.nodes().get(nodeRank).host(), why)));
            case SignalCame(StopSignal signal) -> signal.endsJob() ? hurry(state) : same;
            case GraceIsOver(int number) -> number == round.number() ? agentsSilent(state) : same;
        };
    }

    /** What comes while the workers are stopped for a restart, and rules one out, is why the job ends. */
    private Stopping withoutRestart(Stopping state, StopCause cause) {
        return restarts(state.round(), state.cause()) && !state.hurried()
                ? new Stopping(state.round(), cause, false)
                : state;
    }

    private boolean restarts(Round round, StopCause cause) {
        boolean again = switch (cause) {
            case WorkerFailed(WorkerEnd end) -> end.exitCode() != NO_RESTART;
            case StopCause.WorkerHung _ -> true;
            case Signalled _, TimedOut _, StopCause.NotOpened _, NodeLost _ -> false;
        };
        return again && round.restartCount() < policy.maxRestarts();
    }

    /** Who asks again does not want to wait: the grace period ends now, and nothing is started again. */
    private static Transition hurry(Stopping state) {
        return Transition.to(
                new Stopping(state.round(), state.cause(), true),
                new Say("killing the workers at once"),
                new Stop(SIGKILL, 0));
    }

    /** No agent takes this long after SIGKILL unless it is gone or its workers cannot be killed. */
    private Transition agentsSilent(Stopping state) {
        Round round = state.round();
        for (Node node : ranks.nodes()) {
            round = withNodeEnded(round, node.nodeRank());
        }
        return over(
                round,
                state.cause(),
                true,
                List.of(new Say("some workers' ends were not reported in time; they may still be running")));
    }

    private Transition stoppedSoFar(Round round, Stopping state) {
        return round.ends().size() == ranks.worldSize()
                ? over(round, state.cause(), state.hurried(), List.of())
                : Transition.to(new Stopping(round, state.cause(), state.hurried()));
    }

    private Transition over(Round round, StopCause cause, boolean isLast, List<JobAction> first) {
        List<JobAction> actions = new ArrayList<>(first);
        if (!isLast && restarts(round, cause)) {
            Round again = round.again();
            actions.add(new Say(words(cause) + "; restart " + again.restartCount() + " of " + policy.maxRestarts()));
            actions.add(new Launch(again.number(), again.restartCount()));
            return new Transition(new Running(again), actions);
        }
        Outcome outcome = new Outcome(Optional.of(cause), round.ends(), round.restartCount());
        actions.add(new Finish(outcome));
        return new Transition(new Finished(outcome), actions);
    }

    private static String words(StopCause cause) {
        return switch (cause) {
            case WorkerFailed(WorkerEnd end) -> failure(end);
            case StopCause.WorkerHung(int rank, String host, long _, String why) ->
                "rank " + rank + " on " + host + " " + why;
            case Signalled _, TimedOut _, StopCause.NotOpened _, NodeLost _ -> cause.toString();
        };
    }

    private static Transition finish(Outcome outcome) {
        return Transition.to(new Finished(outcome), new Finish(outcome));
    }
}
