package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.CoordinatorAction.LaunchWorkers;
import io.jrun.launcher.coordinator.CoordinatorAction.PrintNotice;
import io.jrun.launcher.coordinator.CoordinatorAction.ReleaseNode;
import io.jrun.launcher.coordinator.CoordinatorAction.Schedule;
import io.jrun.launcher.coordinator.CoordinatorInput.JobTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.JoinTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.LastCallEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeOpened;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeUnavailable;
import io.jrun.launcher.coordinator.CoordinatorInput.SignalReceived;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessEnded;
import io.jrun.launcher.coordinator.JobState.AwaitingNodes;
import io.jrun.launcher.coordinator.JobState.RoundRunning;
import io.jrun.launcher.coordinator.StopCause.NotOpened;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.LayoutException;
import io.jrun.launcher.layout.Node;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The part of {@link JobMachine} that waits for nodes and begins a round with them. */
final class RoundStart {
    /**
     * Unreachable hosts usually fail at the same time. The report waits this long, so that it names all of these hosts.
     */
    static final long OTHERS_MILLIS = 1_000;

    private final RankAssignment rankAssignment;
    private final NodePolicy nodes;
    private final StopPolicy policy;

    RoundStart(RankAssignment rankAssignment, StopPolicy policy) {
        this.rankAssignment = rankAssignment;
        this.nodes = rankAssignment.nodes();
        this.policy = policy;
    }

    Transition start(SortedMap<Integer, String> called) {
        return Transition.to(
                new AwaitingNodes(JobProgress.awaiting(called), Optional.empty(), Optional.empty(), false),
                new Schedule(new JoinTimeout(0), nodes.joinTimeout().toMillis()));
    }

    Transition next(AwaitingNodes state, CoordinatorInput event, RoundEnd ending) {
        return switch (event) {
            case NodeOpened(int id, Node node) ->
                admit(state, id, node)
                        .map(this::beginIfComplete)
                        .orElseGet(() -> Transition.to(state, new ReleaseNode(id, "the job does not need this node")));
            case NodeUnavailable(int id, String where, String why, boolean refused) ->
                gone(state, id, where, why, refused, ending);
            case WorkerProcessEnded(int number, WorkerResult end) ->
                number == state.round() ? Transition.to(withEnd(state, end)) : Transition.to(state);
            case SignalReceived(StopSignal signal) ->
                signal.endsJob() ? ending.giveUp(state, new Signalled(signal)) : Transition.to(state);
            case JobTimeout() -> ending.giveUp(state, new TimedOut());
            case JoinTimeout(int number) ->
                number == state.round() ? joinTimeIsOver(state, ending) : Transition.to(state);
            case LastCallEnded(int number) -> number == state.round() ? lastCallIsOver(state) : Transition.to(state);
            case CoordinatorInput.WorkerProcessStarted _,
                    CoordinatorInput.WorkerElastic _,
                    CoordinatorInput.WorkerProcessParked _,
                    CoordinatorInput.WorkerLeaving _,
                    CoordinatorInput.WorkerHung _,
                    CoordinatorInput.NodeWorkersJoined _,
                    CoordinatorInput.GracePeriodEnded _,
                    CoordinatorInput.ParkUnexplained _,
                    CoordinatorInput.RestartExpired _,
                    CoordinatorInput.FailureExpired _ -> Transition.to(state);
        };
    }

    /** A parked worker has ended. */
    private static AwaitingNodes withEnd(AwaitingNodes state, WorkerResult end) {
        return new AwaitingNodes(
                state.jobProgress(), state.before().map(round -> round.withEnd(end)), state.cause(), state.lastCall());
    }

    /** The state with this node added; empty if the job has enough nodes, or the node cannot hold its workers. */
    <S extends JobState> Optional<S> admit(S state, int id, Node node) {
        JobProgress jobProgress = state.jobProgress();
        boolean begins =
                state instanceof AwaitingNodes waiting && waiting.before().isEmpty();
        if (!jobProgress.awaited().containsKey(id) && jobProgress.present().size() >= nodes.max() + nodes.spares()) {
            return Optional.empty();
        }
        JobProgress with = jobProgress.with(id, node);
        if (!begins && !canHold(id, node)) {
            return Optional.empty();
        }
        @SuppressWarnings("unchecked") // with() keeps the type of a state
        S admitted = (S) state.with(with);
        return Optional.of(admitted);
    }

    /** Whether the node can hold its workers. A node of the first round fails the job instead, by the exception. */
    private boolean canHold(int id, Node node) {
        try {
            JobProgress alone = JobProgress.awaiting(new TreeMap<>()).with(id, node);
            return !rankAssignment.next(alone, Optional.empty()).ids().isEmpty();
        } catch (LayoutException e) {
            return false;
        }
    }

    private Transition gone(AwaitingNodes state, int id, String where, String why, boolean refused, RoundEnd ending) {
        if (!state.jobProgress().present().containsKey(id)
                && !state.jobProgress().awaited().containsKey(id)) {
            return Transition.to(state);
        }
        AwaitingNodes without = state.with(state.jobProgress().without(id));
        if (state.before().isPresent()) {
            AwaitingNodes reaped = new AwaitingNodes(
                    without.jobProgress(),
                    state.before().map(round -> round.membership().has(id) ? round.withNodeEnded(id) : round),
                    state.cause(),
                    state.lastCall());
            return Transition.to(reaped);
        }
        NotOpened cause = new NotOpened(where.isEmpty() ? List.of() : List.of(where), why, refused);
        JobProgress jobProgress = without.jobProgress();
        return jobProgress.present().size() + jobProgress.awaited().size() < nodes.min()
                ? tooFew(without, cause, ending)
                : beginIfComplete(without).after(new PrintNotice("continuing although " + cause.text()));
    }

    /**
     * The first reason becomes the cause of the job's end, with all agents that have the same reason. The job waits
     * {@link #OTHERS_MILLIS} for further reasons.
     */
    private static Transition tooFew(AwaitingNodes state, NotOpened latest, RoundEnd ending) {
        boolean isAlike = state.cause().orElse(latest) instanceof NotOpened first && first.isAlike(latest);
        StopCause cause = state.cause()
                .map(first -> isAlike && first instanceof NotOpened alike ? alike.with(latest) : first)
                .orElse(latest);
        CoordinatorAction[] messages = state.cause().isPresent() && !isAlike
                ? new CoordinatorAction[] {new PrintNotice(latest.text())}
                : new CoordinatorAction[0];
        if (state.jobProgress().awaited().isEmpty()) {
            return ending.giveUp(state, cause).after(messages);
        }
        AwaitingNodes waiting =
                new AwaitingNodes(state.jobProgress(), state.before(), Optional.of(cause), state.lastCall());
        return state.cause().isPresent()
                ? Transition.to(waiting, messages)
                : Transition.to(waiting, new Schedule(new JoinTimeout(waiting.round()), OTHERS_MILLIS));
    }

    private Transition joinTimeIsOver(AwaitingNodes state, RoundEnd ending) {
        if (rankAssignment.isEnough(state.jobProgress())) {
            return begin(state);
        }
        return ending.giveUp(state, state.cause().orElseGet(() -> silent(state.jobProgress())));
    }

    /** Nodes may have left during the last call. When enough nodes have joined again, a new last call begins. */
    private Transition lastCallIsOver(AwaitingNodes state) {
        return rankAssignment.isEnough(state.jobProgress())
                ? begin(state)
                : Transition.to(new AwaitingNodes(state.jobProgress(), state.before(), state.cause(), false));
    }

    private StopCause silent(JobProgress jobProgress) {
        Iterator<String> missing = jobProgress.awaited().values().iterator();
        String who = missing.hasNext() ? "the agent at " + missing.next() : "no agent";
        int more = Math.max(0, jobProgress.awaited().size() - 1);
        return new NotOpened(
                who + (more > 0 ? " and " + more + " more" : "") + " cannot be reached: no answer within "
                        + nodes.joinTimeout().toSeconds() + " s",
                false);
    }

    /** Begins at once if no further node is awaited. If enough nodes have joined, a last call for the others begins. */
    Transition beginIfComplete(AwaitingNodes state) {
        if (!rankAssignment.isEnough(state.jobProgress())) {
            return Transition.to(state);
        }
        if (state.jobProgress().awaited().isEmpty()) {
            return begin(state);
        }
        return state.lastCall()
                ? Transition.to(state)
                : Transition.to(
                        new AwaitingNodes(state.jobProgress(), state.before(), state.cause(), true),
                        new Schedule(new LastCallEnded(state.round()), NodePolicy.LAST_CALL.toMillis()));
    }

    /** @throws LayoutException if the nodes cannot hold the workers of the job */
    private Transition begin(AwaitingNodes state) {
        Membership membership = rankAssignment.next(state.jobProgress(), state.before());
        Round round = Round.start(state.round() + 1, membership);
        LaunchWorkers launch =
                new LaunchWorkers(round.number(), state.jobProgress().restarts(), membership);
        return Transition.to(new RoundRunning(state.jobProgress(), round), launch);
    }

    /** The next round after {@code before}: now, or as soon as enough nodes have joined. */
    Transition again(JobProgress jobProgress, Round before, Optional<StopCause> cause) {
        AwaitingNodes state = new AwaitingNodes(jobProgress, Optional.of(before), cause, false);
        if (rankAssignment.isEnough(jobProgress)) {
            return begin(state);
        }
        String time = nodes.joinTimeout().toSeconds() + " s";
        return Transition.to(
                state,
                new PrintNotice("waiting up to " + time + " for nodes: "
                        + jobProgress.present().size() + " of at least " + nodes.min() + " have joined"),
                new Schedule(
                        new JoinTimeout(before.number()), nodes.joinTimeout().toMillis()));
    }

    /** Whether enough nodes for another round have joined, or may join. */
    boolean hasHope(JobProgress jobProgress) {
        return rankAssignment.isEnough(jobProgress) || nodes.isElastic();
    }

    /** Whether a restart is left, and nodes for it. */
    boolean mayRestart(JobProgress jobProgress) {
        return jobProgress.counted() < policy.maxRestarts() && hasHope(jobProgress);
    }

    /** Whether this node's workers have failed too often, and the other nodes are enough for the next round. */
    boolean mayRest(JobProgress jobProgress, int id) {
        return nodes.isElastic()
                && jobProgress.failures(id) >= NodePolicy.MOST_FAILURES
                && rankAssignment.isEnough(jobProgress.without(id));
    }

    /** The timer that removes a failure of this node from the count. */
    Schedule forgettingFailure(int id) {
        return new Schedule(
                new CoordinatorInput.FailureExpired(id), nodes.failureWindow().toMillis());
    }

    /** The timer that removes a restart from the count; empty without a restart window. */
    List<Schedule> forgettingRestart() {
        return nodes.restartWindow()
                .map(window -> List.of(new Schedule(new CoordinatorInput.RestartExpired(), window.toMillis())))
                .orElse(List.of());
    }
}
