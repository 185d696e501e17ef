package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.CoordinatorAction.PeerAddress;
import io.jrun.launcher.coordinator.CoordinatorAction.PrintNotice;
import io.jrun.launcher.coordinator.CoordinatorAction.ReportRankLeft;
import io.jrun.launcher.coordinator.CoordinatorAction.RequestCheckpoint;
import io.jrun.launcher.coordinator.CoordinatorAction.RequestRegroup;
import io.jrun.launcher.coordinator.CoordinatorAction.SendPeers;
import io.jrun.launcher.coordinator.CoordinatorInput.Endpoint;
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
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerHung;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerLeaving;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessParked;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessStarted;
import io.jrun.launcher.coordinator.JobState.AwaitingNodes;
import io.jrun.launcher.coordinator.JobState.Finished;
import io.jrun.launcher.coordinator.JobState.RoundRunning;
import io.jrun.launcher.coordinator.JobState.Stopping;
import io.jrun.launcher.coordinator.StopCause.LostAgent;
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
import java.util.SortedMap;

/**
 * The rules of a job: a pure function from a state and an input to the next state and a list of actions. The rules
 * decide which failure is the first, when and on which nodes workers start again, and when the job ends. {@link
 * RoundStart} has the rules for the start of a round, {@link RoundEnd} those for its end. Stateless, without clock and
 * I/O.
 */
final class JobMachine {
    static final int SIGTERM = 15;

    /** Longest time until the coordinator knows the reason for a parked worker. The loss of a host takes 8 s. */
    private static final long PARK_MILLIS = 10_000;

    private final RankAssignment rankAssignment;
    private final RoundStart roundStart;
    private final RoundEnd roundEnd;

    JobMachine(RankAssignment rankAssignment, StopPolicy policy) {
        this.rankAssignment = rankAssignment;
        this.roundStart = new RoundStart(rankAssignment, policy);
        this.roundEnd = new RoundEnd(policy, roundStart);
    }

    /**
     * The first state.
     *
     * @param called the names of the nodes in messages, by id
     */
    Transition start(SortedMap<Integer, String> called) {
        return roundStart.start(called);
    }

    /** The state after {@code event}. Inputs of an earlier round, or after the end of the job, change nothing. */
    Transition next(JobState state, CoordinatorInput event) {
        if (event instanceof RestartExpired && !(state instanceof Finished)) {
            return Transition.to(state.with(state.jobProgress().withoutOldestRestart()));
        }
        if (event instanceof CoordinatorInput.FailureExpired(int id) && !(state instanceof Finished)) {
            return Transition.to(state.with(state.jobProgress().withoutOldestFailure(id)));
        }
        return switch (state) {
            case AwaitingNodes waiting -> roundStart.next(waiting, event, roundEnd);
            case RoundRunning running -> running(running, event);
            case Stopping stopping -> roundEnd.next(stopping, event);
            case Finished finished -> Transition.to(finished);
        };
    }

    private Transition running(RoundRunning state, CoordinatorInput event) {
        Round round = state.round();
        Transition same = Transition.to(state);
        return switch (event) {
            case NodeOpened(int id, Node node) -> nodeOpened(state, id, node);
            case NodeUnavailable(int id, String where, String why, boolean _) -> nodeUnavailable(state, id, where, why);
            case WorkerProcessStarted(int number, int rank, long pid) ->
                number == round.number() ? Transition.to(state.with(round.withPid(rank, pid))) : same;
            case NodeWorkersJoined(int id, int number, List<Endpoint> endpoints) ->
                number == round.number() && round.membership().has(id) ? nodeWorkersJoined(state, id, endpoints) : same;
            case WorkerElastic(int number, int rank) ->
                number == round.number() ? regroupIfLarger(state.with(round.withElastic(rank))) : same;
            case WorkerProcessParked(int number, int rank, long pid, String why) ->
                number == round.number() ? workerParked(state.with(round.withParked(rank, pid)), rank, why) : same;
            case WorkerLeaving(int rank, int number, String how) ->
                number == round.number() ? workerLeft(state, rank, how) : same;
            case WorkerProcessEnded(int number, WorkerResult end) ->
                number == round.number() && !round.hasEnded(end.rank()) ? workerEnded(state, end) : same;
            case WorkerHung(int rank, int number, long pid, String why) ->
                number == round.number() ? workerHung(state, rank, pid, why) : same;
            case SignalReceived(StopSignal signal) -> signalReceived(state, signal);
            case JobTimeout() ->
                roundEnd.stop(state, new TimedOut(), SIGTERM, "the time limit of the job (--timeout) has passed");
            case ParkUnexplained(int number, int rank, String why) ->
                number == round.number() && round.parked().has(rank) ? peersLost(state, rank, why) : same;
            case GracePeriodEnded _,
                    JoinTimeout _,
                    LastCallEnded _,
                    RestartExpired _,
                    CoordinatorInput.FailureExpired _ -> same;
        };
    }

    private Transition nodeOpened(RoundRunning state, int id, Node node) {
        return roundStart
                .admit(state, id, node)
                .map(this::regroupIfLarger)
                .orElseGet(() ->
                        Transition.to(state, new CoordinatorAction.ReleaseNode(id, "the job does not need this node")));
    }

    /** Requests a new round if the job may use more nodes and all workers are elastic. */
    private Transition regroupIfLarger(RoundRunning state) {
        Round round = state.round();
        if (round.regrouping() || !round.isElastic() || !rankAssignment.canGrow(state.jobProgress(), round)) {
            return Transition.to(state);
        }
        String why = "more nodes have joined";
        return Transition.to(
                state.with(round.asRegrouping()),
                new PrintNotice(why + ": all workers continue in a new round after their next commit"),
                new RequestRegroup(round.number(), why));
    }

    private Transition nodeUnavailable(RoundRunning state, int id, String where, String why) {
        RoundRunning without = state.with(state.jobProgress().without(id));
        Round round = state.round();
        if (!round.membership().has(id)) {
            return state.jobProgress().present().containsKey(id)
                    ? Transition.to(without, new PrintNotice("lost the agent at " + where + ", a spare node: " + why))
                    : Transition.to(without);
        }
        String host = round.membership()
                .ranks()
                .nodes()
                .get(round.membership().nodeRank(id))
                .host();
        return agentLost(without.with(round.withNodeEnded(id)), host, why);
    }

    private Transition agentLost(RoundRunning state, String host, String why) {
        return roundEnd.stop(state, new LostAgent(host, why), SIGTERM, "the agent of " + host + " was lost: " + why);
    }

    private static Transition nodeWorkersJoined(RoundRunning state, int id, List<Endpoint> endpoints) {
        Round round = state.round();
        Round next = round.withJoined(id, endpoints);
        if (round.joined().has(id)
                || next.joined().size() < next.membership().ids().size()) {
            return Transition.to(state.with(next));
        }
        return Transition.to(state.with(next), new SendPeers(round.number(), peers(next)));
    }

    private static List<PeerAddress> peers(Round round) {
        RankMap ranks = round.membership().ranks();
        List<PeerAddress> peers = new ArrayList<>();
        for (List<Endpoint> endpoints : round.joined().values()) {
            for (Endpoint endpoint : endpoints) {
                Placement place = ranks.placement(endpoint.rank());
                Node node = ranks.nodes().get(place.nodeRank());
                peers.add(new PeerAddress(
                        place.rank(),
                        place.nodeRank(),
                        node.host(),
                        node.address(),
                        endpoint.tcpPort(),
                        endpoint.pid()));
            }
        }
        peers.sort(Comparator.comparingInt(PeerAddress::rank));
        return peers;
    }

    private Transition workerParked(RoundRunning state, int rank, String why) {
        Round round = state.round();
        if (round.regrouping()) {
            return roundEnd.regroup(state);
        }
        if (round.isOver()) {
            return peersLost(state, rank, why);
        }
        return Transition.to(
                state, new CoordinatorAction.Schedule(new ParkUnexplained(round.number(), rank, why), PARK_MILLIS));
    }

    /** Workers have lost connections to each other, and no other failure is known. */
    private Transition peersLost(RoundRunning state, int rank, String why) {
        String host = state.round().membership().ranks().placement(rank).host();
        return roundEnd.stop(
                state,
                new StopCause.PeersLost(rank, host, why),
                SIGTERM,
                "rank " + rank + " on " + host + " has lost its peers: " + why);
    }

    private static Transition workerLeft(RoundRunning state, int rank, String how) {
        Round round = state.round();
        return round.left().has(rank)
                ? Transition.to(state)
                : Transition.to(state.with(round.withLeft(rank)), new ReportRankLeft(round.number(), rank, how));
    }

    private Transition workerEnded(RoundRunning state, WorkerResult end) {
        Round next = state.round().withEnd(end);
        RoundRunning with = state.with(next);
        if (!end.isSuccess() && end.afterStop()) { // the launcher has not stopped this worker
            int id = next.membership().idOf(end.rank());
            return agentLost(
                    with.with(state.jobProgress().without(id)),
                    end.host(),
                    "the agent was stopped, and it stopped its workers");
        }
        if (!end.isSuccess()) {
            return roundEnd.stop(with, new WorkerFailed(end), SIGTERM, RoundEnd.words(end));
        }
        if (next.isReaped()) {
            return RoundEnd.finish(state.jobProgress(), Optional.empty(), next.ends());
        }
        return workerLeft(with, end.rank(), "exited with code 0");
    }

    private Transition workerHung(RoundRunning state, int rank, long pid, String why) {
        String host = state.round().membership().ranks().placement(rank).host();
        StopCause cause = new StopCause.HungWorker(rank, host, pid, why);
        return roundEnd.stop(state, cause, SIGTERM, RoundEnd.words(cause));
    }

    private Transition signalReceived(RoundRunning state, StopSignal signal) {
        return signal.endsJob()
                ? roundEnd.stopAsAsked(state, signal)
                : Transition.to(state, new RequestCheckpoint(signal.number()));
    }
}
