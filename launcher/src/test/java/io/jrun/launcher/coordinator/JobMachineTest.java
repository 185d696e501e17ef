package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.coordinator.CoordinatorAction.CoolDownNode;
import io.jrun.launcher.coordinator.CoordinatorAction.FailCollectives;
import io.jrun.launcher.coordinator.CoordinatorAction.LaunchWorkers;
import io.jrun.launcher.coordinator.CoordinatorAction.PeerAddress;
import io.jrun.launcher.coordinator.CoordinatorAction.PrintNotice;
import io.jrun.launcher.coordinator.CoordinatorAction.ReleaseNode;
import io.jrun.launcher.coordinator.CoordinatorAction.ReportRankLeft;
import io.jrun.launcher.coordinator.CoordinatorAction.RequestCheckpoint;
import io.jrun.launcher.coordinator.CoordinatorAction.RequestRegroup;
import io.jrun.launcher.coordinator.CoordinatorAction.Schedule;
import io.jrun.launcher.coordinator.CoordinatorAction.SendPeers;
import io.jrun.launcher.coordinator.CoordinatorAction.StopRound;
import io.jrun.launcher.coordinator.CoordinatorInput.Endpoint;
import io.jrun.launcher.coordinator.CoordinatorInput.GracePeriodEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.JobTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.JoinTimeout;
import io.jrun.launcher.coordinator.CoordinatorInput.LastCallEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeOpened;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeUnavailable;
import io.jrun.launcher.coordinator.CoordinatorInput.NodeWorkersJoined;
import io.jrun.launcher.coordinator.CoordinatorInput.SignalReceived;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerElastic;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerHung;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerLeaving;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessEnded;
import io.jrun.launcher.coordinator.CoordinatorInput.WorkerProcessParked;
import io.jrun.launcher.coordinator.StopCause.LostAgent;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.coordinator.StopCause.WorkerFailed;
import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.LayoutRules;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.RankMap;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JobMachineTest {
    private static final List<Node> NODES = IntStream.rangeClosed(1, 4)
            .mapToObj(i -> new Node(i - 1, "node" + i, "10.0.0." + i, 2, List.of(), 0))
            .toList();

    private static final LayoutRules RULES = new LayoutRules(_ -> new WorkerCount.Exactly(2), GpuVisibility.ALL);

    private static final Membership TWO = new Membership(List.of(0, 1), ranks(0, 1), Map.of());

    private final JobMachine machine = machine(0);

    /** After the events of the last play. */
    private @Nullable JobState state;

    private static JobMachine machine(int maxRestarts) {
        return machine(maxRestarts, 2, 2, 0, Optional.empty());
    }

    private static JobMachine machine(int maxRestarts, int min, int max, int spares, Optional<Duration> window) {
        NodePolicy nodes = new NodePolicy(min, max, spares, Duration.ofSeconds(60), window, Duration.ofSeconds(30));
        return new JobMachine(
                new RankAssignment(nodes, RULES, same -> same),
                new StopPolicy(maxRestarts, Duration.ofSeconds(30), Set.of()));
    }

    private static RankMap ranks(int... ids) {
        List<Node> seated = new ArrayList<>();
        for (int id : ids) {
            seated.add(NODES.get(id).withNodeRank(seated.size()));
        }
        return Layout.place(seated, RULES);
    }

    private static LaunchWorkers launch(int round, int restartCount) {
        return new LaunchWorkers(round, restartCount, TWO);
    }

    private static LaunchWorkers launch(int round, int restartCount, Map<Integer, Long> kept, Integer... ids) {
        int[] seats = Stream.of(ids).mapToInt(Integer::intValue).toArray();
        return new LaunchWorkers(round, restartCount, new Membership(List.of(ids), ranks(seats), kept));
    }

    private static NodeOpened came(int id) {
        return new NodeOpened(id, NODES.get(id));
    }

    private static NodeUnavailable gone(int id, String why) {
        return new NodeUnavailable(id, "node" + (id + 1) + ":29600", why, false);
    }

    @Test
    void jobSucceedsWhenEveryWorkerHas() {
        List<CoordinatorAction> actions = play(machine, ended(1, 0, 0), ended(1, 3, 0), ended(1, 2, 0), ended(1, 1, 0));
        assertThat(actions.getFirst()).isEqualTo(launch(1, 0));
        JobOutcome outcome = outcome();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.cause()).isEmpty();
        assertThat(outcome.ends()).extracting(WorkerResult::rank).containsExactly(0, 3, 2, 1);
    }

    @Test
    void secondEndOfARankChangesNothing() {
        play(machine, ended(1, 0, 0), ended(1, 0, 7), ended(1, 1, 0), ended(1, 2, 0), ended(1, 3, 0));
        assertThat(outcome().exitCode()).isZero();
        assertThat(outcome().ends()).extracting(WorkerResult::rank).containsExactly(0, 1, 2, 3);
    }

    @Test
    void secondEndOfARankChangesNothingWhileWorkersRegroup() {
        CoordinatorInput[] grown = {came(0), came(1), elastic(0), elastic(1), elastic(2), elastic(3), came(2)};
        CoordinatorInput[] ends = {
            new WorkerProcessParked(1, 1, 71, ""),
            ended(1, 0, 0),
            ended(1, 0, 7),
            ended(1, 1, 0),
            ended(1, 2, 0),
            ended(1, 3, 0)
        };
        List<CoordinatorAction> actions = playFromStart(machine(0, 2, 3, 0, Optional.empty()), 2, concat(grown, ends));
        assertThat(actions)
                .as("the workers are to let the third node in")
                .hasAtLeastOneElementOfType(RequestRegroup.class);
        assertThat(outcome().exitCode()).isZero();
    }

    /** 137 is 128 + 9: the worker was killed by SIGKILL. */
    @Test
    void exitCodeOfTheFirstFailureIsTheJobs() {
        for (int code : new int[] {1, 65, 126, 127, 128, 137, 143, 255}) {
            play(machine, ended(1, 0, code), ended(1, 1, 0), ended(1, 2, 0), ended(1, 3, 0));
            assertThat(outcome().exitCode()).isEqualTo(code);
        }
    }

    @Test
    void peerTableGoesOutOnceWhenAllNodesHaveJoined() {
        List<CoordinatorAction> actions = play(machine, joined(1, 1), joined(1, 0), joined(1, 0));
        assertThat(actions.subList(1, actions.size()))
                .containsExactly(new SendPeers(
                        1,
                        List.of(
                                new PeerAddress(0, 0, "node1", "10.0.0.1", 5000, 70),
                                new PeerAddress(1, 0, "node1", "10.0.0.1", 5001, 71),
                                new PeerAddress(2, 1, "node2", "10.0.0.2", 5002, 72),
                                new PeerAddress(3, 1, "node2", "10.0.0.2", 5003, 73))));
    }

    @Test
    void othersHearOnceThatARankHasLeft() {
        List<CoordinatorAction> actions = play(
                machine,
                new WorkerLeaving(2, 1, "closed its world"),
                new WorkerLeaving(2, 1, "returned from main"),
                ended(1, 2, 0),
                ended(1, 0, 0));
        assertThat(actions.subList(1, actions.size()))
                .containsExactly(
                        new ReportRankLeft(1, 2, "closed its world"), new ReportRankLeft(1, 0, "exited with code 0"));
    }

    @Test
    void firstFailureStopsEverybodyAndIsTheCause() {
        List<CoordinatorAction> actions = play(
                machine,
                ended(1, 2, 42),
                new WorkerProcessEnded(1, Ends.stopped(0, 1)),
                new WorkerProcessEnded(1, Ends.stopped(1, 137)),
                new WorkerProcessEnded(1, Ends.stopped(3, 0)));
        assertThat(actions)
                .startsWith(
                        launch(1, 0),
                        new FailCollectives(1, "rank 2 on node1 exited with code 42 (pid 1002)"),
                        new StopRound(15, 30_000, false),
                        new Schedule(new GracePeriodEnded(1), 40_000));
        assertThat(outcome().exitCode()).isEqualTo(42);
        assertThat(outcome().cause()).contains(new WorkerFailed(Ends.of(2, 42)));
        assertThat(outcome().ends()).hasSize(4);
    }

    @Test
    void restartWaitsForTheLastWorkerAndIsCountedForTheJob() {
        JobMachine restarting = machine(1);
        List<CoordinatorAction> actions =
                play(restarting, ended(1, 0, 1), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143), ended(2, 3, 7));
        assertThat(actions)
                .contains(
                        new PrintNotice("rank 0 on node1 exited with code 1 (pid 1000); restart 1 of 1"), launch(2, 1));
        List<CoordinatorAction> all = play(
                restarting,
                ended(1, 0, 1),
                ended(1, 1, 143),
                ended(1, 2, 143),
                ended(1, 3, 143),
                ended(2, 3, 7),
                ended(2, 0, 143),
                ended(2, 1, 143),
                ended(2, 2, 143));
        assertThat(all.stream().filter(LaunchWorkers.class::isInstance)).hasSize(2);
        assertThat(outcome().exitCode()).isEqualTo(7);
        assertThat(outcome().restarts()).isEqualTo(1);
    }

    @Test
    void hungWorkerStopsTheJobAndIsStartedAgain() {
        List<CoordinatorAction> actions = play(
                machine(1),
                new WorkerHung(2, 1, 70, "has given no sign of life for 5 s"),
                new WorkerProcessEnded(1, Ends.stopped(2, 137)),
                ended(1, 0, 143),
                ended(1, 1, 143),
                ended(1, 3, 143),
                new WorkerHung(2, 1, 70, "old news"),
                new WorkerHung(0, 2, 71, "hangs again"),
                ended(2, 0, 137),
                ended(2, 1, 143),
                ended(2, 2, 143),
                ended(2, 3, 143));
        assertThat(actions)
                .contains(
                        new FailCollectives(1, "rank 2 on node2 has given no sign of life for 5 s"),
                        new PrintNotice("rank 2 on node2 has given no sign of life for 5 s; restart 1 of 1"),
                        new FailCollectives(2, "rank 0 on node1 hangs again"));
        assertThat(outcome().cause()).contains(new StopCause.HungWorker(0, "node1", 71, "hangs again"));
        assertThat(outcome().exitCode()).isEqualTo(75);
    }

    /** 2 is a usage error: the arguments and files of a restart are the same. */
    @ParameterizedTest
    @ValueSource(ints = {2, 65})
    void workerWhoseExitCodeRulesOutARestartIsNotStartedAgain(int code) {
        List<CoordinatorAction> actions =
                play(machine(3), ended(1, 1, code), ended(1, 0, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(actions.stream().filter(LaunchWorkers.class::isInstance)).hasSize(1);
        assertThat(outcome().exitCode()).isEqualTo(code);
    }

    @Test
    void newsOfAnEarlierRoundChangeNothing() {
        JobMachine restarting = machine(1);
        List<CoordinatorAction> before =
                play(restarting, ended(1, 0, 1), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        List<CoordinatorAction> after = play(
                restarting,
                ended(1, 0, 1),
                ended(1, 1, 143),
                ended(1, 2, 143),
                ended(1, 3, 143),
                ended(1, 3, 9),
                new WorkerLeaving(1, 1, "left"),
                joined(1, 0),
                joined(1, 1),
                new GracePeriodEnded(1));
        assertThat(after).isEqualTo(before);
    }

    @Test
    void signalIsForwardedWithOneGracePeriodAndTheSecondKills() {
        List<CoordinatorAction> actions = play(
                machine,
                new SignalReceived(StopSignal.INT),
                new SignalReceived(StopSignal.INT),
                ended(1, 0, 130),
                ended(1, 1, 0),
                ended(1, 2, 137),
                ended(1, 3, 137));
        assertThat(actions)
                .containsSubsequence(
                        new PrintNotice(
                                "SIGINT: waiting up to 30 s for the workers to end; another signal kills them at once"),
                        new FailCollectives(1, "jrun got SIGINT"),
                        new StopRound(2, 30_000, false),
                        new PrintNotice("killing the workers at once"),
                        new StopRound(9, 0, false));
        assertThat(outcome().exitCode()).isEqualTo(130);
        assertThat(outcome().cause()).contains(new Signalled(StopSignal.INT));
    }

    @Test
    void firstSignalDuringAStopForARestartGivesWorkersTheirGraceAndTheSecondKills() {
        CoordinatorInput[] first = {
            ended(1, 0, 3), new WorkerProcessParked(1, 1, 71, ""), new SignalReceived(StopSignal.INT)
        };
        CoordinatorInput[] ends = {ended(1, 1, 130), ended(1, 2, 130), ended(1, 3, 130)};
        assertThat(play(machine(5), concat(first, ends)))
                .containsSubsequence(
                        new StopRound(15, 30_000, true),
                        new PrintNotice("waiting for the workers to end: no restart follows; another signal kills them"
                                + " at once"),
                        new StopRound(2, 30_000, false),
                        new Schedule(new GracePeriodEnded(2), 40_000))
                .doesNotContain(new StopRound(9, 0, false));
        assertThat(outcome().exitCode()).isEqualTo(3);
        assertThat(play(
                        machine(5),
                        concat(first, concat(new CoordinatorInput[] {new SignalReceived(StopSignal.INT)}, ends))))
                .containsSubsequence(
                        new StopRound(2, 30_000, false),
                        new PrintNotice("killing the workers at once"),
                        new StopRound(9, 0, false),
                        new Schedule(new GracePeriodEnded(3), 10_000));
        assertThat(outcome().exitCode()).isEqualTo(3);
    }

    @Test
    void firstSignalDuringTheLastStopLeavesWorkersTheirGraceAndTheSecondKills() {
        List<CoordinatorAction> once = play(machine, ended(1, 0, 3), new SignalReceived(StopSignal.INT));
        assertThat(once.stream().filter(StopRound.class::isInstance)).containsExactly(new StopRound(15, 30_000, false));
        assertThat(once.getLast())
                .isEqualTo(new PrintNotice(
                        "waiting for the workers to end: the stop signal was sent before; another signal kills them"
                                + " at once"));
        assertThat(play(
                        machine,
                        ended(1, 0, 3),
                        new SignalReceived(StopSignal.INT),
                        new SignalReceived(StopSignal.TERM)))
                .contains(new StopRound(9, 0, false));
    }

    @Test
    void aSecondStopHasATimeOfItsOwn() {
        CoordinatorInput[] stopped = {ended(1, 0, 1), new JobTimeout()};
        assertThat(play(machine(3), concat(stopped, new GracePeriodEnded(1))).stream()
                        .filter(ReleaseNode.class::isInstance))
                .as("the time of the first stop is over, not that of the second")
                .isEmpty();
        assertThat(play(machine(3), concat(stopped, new GracePeriodEnded(1), new GracePeriodEnded(2))).stream()
                        .filter(ReleaseNode.class::isInstance))
                .hasSize(2);
        assertThat(outcome().cause()).contains(new TimedOut());
    }

    @Test
    void aStopWhileNodesAreWaitedForHasATimeOfItsOwn() {
        JobMachine shrunk = machine(3, 2, 3, 0, Optional.empty());
        CoordinatorInput[] waiting = {
            ended(1, 0, 1),
            new WorkerProcessParked(1, 2, 72, ""),
            new WorkerProcessParked(1, 3, 73, ""),
            gone(0, "power"),
            new SignalReceived(StopSignal.TERM),
            new GracePeriodEnded(1)
        };
        assertThat(play(shrunk, waiting).stream().filter(ReleaseNode.class::isInstance))
                .isEmpty();
        play(shrunk, concat(waiting, ended(1, 2, 143), ended(1, 3, 143)));
        assertThat(outcome().cause()).contains(new Signalled(StopSignal.TERM));
    }

    @Test
    void checkpointSignalsDoNotEndTheJob() {
        assertThat(play(machine, new SignalReceived(StopSignal.USR1), new SignalReceived(StopSignal.USR2)))
                .containsExactly(launch(1, 0), new RequestCheckpoint(10), new RequestCheckpoint(12));
    }

    @Test
    void timeoutEndsTheJobWith124() {
        play(machine(3), new JobTimeout(), ended(1, 0, 143), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(outcome().exitCode()).isEqualTo(124);
        assertThat(outcome().cause()).contains(new TimedOut());
    }

    @Test
    void lostAgentEndsTheJobOnTheOtherNodes() {
        List<CoordinatorAction> actions =
                play(machine(3), gone(1, "connection reset"), ended(1, 0, 143), ended(1, 1, 143));
        assertThat(actions).contains(new StopRound(15, 30_000, false));
        assertThat(outcome().exitCode()).isEqualTo(69);
        assertThat(outcome().cause()).contains(new LostAgent("node2", "connection reset"));
        assertThat(outcome().ends()).extracting(WorkerResult::rank).containsExactlyInAnyOrder(0, 1, 2, 3);
    }

    @Test
    void stoppedAgentEndsTheJobWhateverRestartsAreLeft() {
        String why = "the agent was stopped, and it stopped its workers";
        List<CoordinatorAction> actions = play(
                machine(3),
                new WorkerProcessEnded(1, Ends.stopped(2, 137)),
                new WorkerProcessEnded(1, Ends.stopped(3, 137)),
                gone(1, "the agent ended the job's control stream"),
                ended(1, 0, 143),
                ended(1, 1, 143));
        assertThat(actions)
                .contains(
                        new FailCollectives(1, "the agent of node1 was lost: " + why),
                        new StopRound(15, 30_000, false));
        assertThat(actions.stream().filter(LaunchWorkers.class::isInstance)).hasSize(1);
        assertThat(outcome().cause()).contains(new LostAgent("node1", why));
        assertThat(outcome().exitCode()).isEqualTo(69);
    }

    @Test
    void timeoutDuringAStopForARestartEndsTheJob() {
        List<CoordinatorAction> actions = play(
                machine(3), ended(1, 0, 1), new JobTimeout(), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(actions.stream().filter(LaunchWorkers.class::isInstance)).hasSize(1);
        assertThat(outcome().cause()).contains(new TimedOut());
    }

    @Test
    void timeoutDuringTheLastStopLeavesTheFirstCause() {
        play(machine, ended(1, 0, 7), new JobTimeout(), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(outcome().cause()).contains(new WorkerFailed(Ends.of(0, 7)));
    }

    @Test
    void agentLostDuringAStopForARestartEndsTheJob() {
        List<CoordinatorAction> actions = play(machine(3), ended(1, 0, 1), gone(1, "reset"), ended(1, 1, 143));
        assertThat(actions.stream().filter(LaunchWorkers.class::isInstance)).hasSize(1);
        assertThat(outcome().cause()).contains(new LostAgent("node2", "reset"));
        assertThat(outcome().ends()).hasSize(4);
    }

    @Test
    void agentsThatDoNotReportDoNotHoldTheJob() {
        List<CoordinatorAction> actions = play(machine(3), ended(1, 0, 1), new GracePeriodEnded(1));
        assertThat(outcome().exitCode()).isEqualTo(1);
        assertThat(actions.stream().filter(LaunchWorkers.class::isInstance)).hasSize(1);
    }

    /** The actions of the machine after both nodes have joined. */
    private List<CoordinatorAction> play(JobMachine machine, CoordinatorInput... events) {
        List<CoordinatorInput> all = new ArrayList<>(List.of(came(1), came(0)));
        all.addAll(List.of(events));
        List<CoordinatorAction> actions = playFromStart(machine, 2, all.toArray(CoordinatorInput[]::new));
        return actions.subList(1, actions.size());
    }

    private List<CoordinatorAction> playFromStart(JobMachine machine, int called, CoordinatorInput... events) {
        SortedMap<Integer, String> names = new TreeMap<>();
        for (int id = 0; id < called; id++) {
            names.put(id, "node" + (id + 1) + ":29600");
        }
        Transition transition = machine.start(names);
        List<CoordinatorAction> actions = new ArrayList<>(transition.actions());
        for (CoordinatorInput event : events) {
            transition = machine.next(transition.state(), event);
            actions.addAll(transition.actions());
        }
        state = transition.state();
        return actions;
    }

    /** The ends of all workers but this one, of four, after a stop. */
    private static CoordinatorInput[] others(int round, int... ranks) {
        return Arrays.stream(ranks)
                .mapToObj(rank -> new WorkerProcessEnded(round, Ends.stopped(rank, 143)))
                .toArray(CoordinatorInput[]::new);
    }

    private static CoordinatorInput[] concat(CoordinatorInput[] first, CoordinatorInput... second) {
        return Stream.of(first, second).flatMap(Stream::of).toArray(CoordinatorInput[]::new);
    }

    @Test
    void spareTakesThePlaceOfALostNode() {
        CoordinatorInput[] events = {came(0), came(1), came(2), gone(0, "reset"), ended(1, 2, 143), ended(1, 3, 143)};
        List<CoordinatorAction> actions = playFromStart(machine(1, 2, 2, 1, Optional.empty()), 3, events);
        assertThat(actions)
                .contains(
                        launch(1, 0),
                        new PrintNotice("the agent of node1 was lost: reset; restart 1 of 1"),
                        launch(2, 1, Map.of(), 2, 1));
    }

    @Test
    void worldShrinksAndGrowsWithItsNodes() {
        JobMachine elastic = machine(2, 1, 3, 0, Optional.empty());
        CoordinatorInput[] events = {
            came(0),
            came(1),
            gone(0, "reset"),
            ended(1, 2, 143),
            ended(1, 3, 143),
            came(2),
            ended(2, 1, 3),
            ended(2, 0, 143)
        };
        assertThat(playFromStart(elastic, 2, events))
                .contains(launch(1, 0), launch(2, 1, Map.of(), 1), launch(3, 2, Map.of(), 1, 2));
    }

    @Test
    void jobBeginsWithoutThoseThatDoNotCome() {
        JobMachine elastic = machine(0, 1, 3, 0, Optional.empty());
        assertThat(playFromStart(elastic, 2, came(1), gone(0, "no such host")))
                .endsWith(
                        new PrintNotice("continuing although the agent at node1:29600 cannot be reached: no such host"),
                        launch(1, 0, Map.of(), 1));
        assertThat(playFromStart(elastic, 2, came(1), new LastCallEnded(0)))
                .endsWith(new Schedule(new LastCallEnded(0), 30_000), launch(1, 0, Map.of(), 1));
        playFromStart(elastic, 2, new JoinTimeout(0));
        assertThat(outcome().cause())
                .contains(new StopCause.NotOpened(
                        "the agent at node1:29600 and 1 more cannot be reached: no answer within 60 s", false));
    }

    @Test
    void unreachableHostsAreReportedTogether() {
        JobMachine four = machine(0, 4, 4, 0, Optional.empty());
        CoordinatorInput[] two = {came(1), gone(2, "refused"), gone(0, "no such host")};
        String others = "the agent at node1:29600 cannot be reached: no such host";
        StopCause first = new StopCause.NotOpened(List.of("node3:29600"), "refused", false);
        Schedule wait = new Schedule(new JoinTimeout(0), 1_000);
        assertThat(playFromStart(four, 4, two)).endsWith(wait, new PrintNotice(others));
        assertThat(state).isInstanceOf(JobState.AwaitingNodes.class);
        playFromStart(four, 4, concat(two, new JoinTimeout(0))); // the fourth says nothing
        assertThat(outcome().cause()).contains(first);
        playFromStart(four, 4, concat(two, gone(3, "refused")));
        assertThat(outcome().cause().map(StopCause::failure).map(JobFailure::text))
                .contains("the agents at node3:29600, node4:29600 cannot be reached: refused");
    }

    @Test
    void aLastCallThatFindsTooFewIsFollowedByAnother() {
        JobMachine elastic = machine(0, 2, 4, 0, Optional.empty());
        Schedule lastCall = new Schedule(new LastCallEnded(0), 30_000);
        CoordinatorInput[] events = {
            came(0), came(1), gone(0, "reset"), new LastCallEnded(0), came(2), new LastCallEnded(0)
        };
        assertThat(playFromStart(elastic, 4, events)).endsWith(lastCall, launch(1, 0, Map.of(), 1, 2));
    }

    @Test
    void tooFewNodesAreWaitedForAndThenTheLossIsTheCause() {
        JobMachine elastic = machine(3, 2, 3, 0, Optional.empty());
        CoordinatorInput[] events = {came(0), came(1), gone(0, "reset"), ended(1, 2, 143), ended(1, 3, 143)};
        assertThat(playFromStart(elastic, 2, concat(events, came(2))))
                .contains(new Schedule(new JoinTimeout(1), 60_000))
                .endsWith(launch(2, 1, Map.of(), 2, 1));
        playFromStart(elastic, 2, concat(events, new JoinTimeout(1)));
        JobOutcome outcome = outcome();
        assertThat(outcome.cause()).contains(new LostAgent("node1", "reset"));
        assertThat(outcome.exitCode()).isEqualTo(69);
    }

    @Test
    void workersThatParkGoOnUnderTheirRanks() {
        List<CoordinatorAction> actions = play(
                machine(1),
                new WorkerProcessParked(1, 0, 70, "rank 3 is gone"),
                ended(1, 3, 137),
                new WorkerProcessParked(1, 1, 71, ""),
                new WorkerProcessParked(1, 2, 72, ""));
        assertThat(actions)
                .contains(new StopRound(15, 30_000, true), launch(2, 1, Map.of(0, 70L, 1, 71L, 2, 72L), 0, 1));
    }

    @Test
    void workersThatAllHaveLostEachOtherAreOneFailure() {
        List<CoordinatorAction> actions = play(
                machine(0),
                new WorkerProcessParked(1, 0, 70, "no route"),
                new WorkerProcessParked(1, 1, 71, ""),
                new CoordinatorInput.ParkUnexplained(1, 0, "no route"));
        assertThat(actions).contains(new FailCollectives(1, "rank 0 on node1 has lost its peers: no route"));
        play(
                machine(0),
                concat(
                        new CoordinatorInput[] {
                            new WorkerProcessParked(1, 0, 70, "no route"),
                            new CoordinatorInput.ParkUnexplained(1, 0, "no route")
                        },
                        others(1, 0, 1, 2, 3)));
        assertThat(outcome().exitCode()).isEqualTo(75);
    }

    @Test
    void elasticWorkersLetANodeInWithoutARestart() {
        JobMachine elastic = machine(0, 2, 3, 0, Optional.empty());
        CoordinatorInput[] events = {
            came(0), came(1), elastic(0), elastic(1), elastic(2), came(2), elastic(3), parked(0), parked(2), parked(1)
        };
        assertThat(playFromStart(elastic, 2, concat(events, parked(3))))
                .containsSubsequence(
                        launch(1, 0),
                        new RequestRegroup(1, "more nodes have joined"),
                        new StopRound(15, 30_000, true),
                        launch(2, 0, Map.of(0, 100L, 1, 101L, 2, 102L, 3, 103L), 0, 1, 2));
        // One that does not park in time is killed, and started again: no failure.
        assertThat(playFromStart(elastic, 2, concat(events, new WorkerProcessEnded(1, Ends.stopped(3, 137)))))
                .contains(launch(2, 0, Map.of(0, 100L, 1, 101L, 2, 102L), 0, 1, 2));
    }

    private static CoordinatorInput elastic(int rank) {
        return new WorkerElastic(1, rank);
    }

    private static CoordinatorInput parked(int rank) {
        return new WorkerProcessParked(1, rank, 100 + rank, "");
    }

    @Test
    void parkedWorkersEndWithAJobThatCannotGoOn() {
        List<CoordinatorAction> actions = play(
                machine(1),
                ended(1, 3, 1),
                new WorkerProcessParked(1, 0, 70, ""),
                new JobTimeout(),
                ended(1, 0, 143),
                ended(1, 1, 143),
                ended(1, 2, 143));
        assertThat(actions).containsSubsequence(new StopRound(15, 30_000, true), new StopRound(15, 30_000, false));
        assertThat(outcome().cause()).contains(new TimedOut());
        assertThat(outcome().ends()).hasSize(4);
    }

    @Test
    void oldRestartsDoNotCount() {
        CoordinatorInput[] fail = concat(new CoordinatorInput[] {ended(1, 0, 1)}, others(1, 1, 2, 3));
        CoordinatorInput[] again = concat(new CoordinatorInput[] {ended(2, 0, 1)}, others(2, 1, 2, 3));
        JobMachine windowed = machine(1, 2, 2, 0, Optional.of(Duration.ofHours(1)));
        assertThat(play(windowed, concat(concat(fail, new CoordinatorInput.RestartExpired()), again)))
                .contains(new Schedule(new CoordinatorInput.RestartExpired(), 3_600_000), launch(3, 2));
        play(windowed, concat(fail, again));
        assertThat(outcome().restarts()).isEqualTo(1);
    }

    /** A round of four in which the second node's first worker fails. */
    private static CoordinatorInput[] failsOnTheSecond(int round) {
        return concat(new CoordinatorInput[] {ended(round, 2, 1)}, others(round, 0, 1, 3));
    }

    @Test
    void nodeWhoseWorkersFailAgainAndAgainRests() {
        CoordinatorInput[] three = {came(0), came(1), came(2)};
        CoordinatorInput[] twice = concat(three, concat(failsOnTheSecond(1), failsOnTheSecond(2)));
        JobMachine spared = machine(5, 2, 2, 1, Optional.empty());
        String why = "its workers were the first to fail 3 times";
        assertThat(playFromStart(spared, 3, concat(twice, failsOnTheSecond(3))))
                .contains(new Schedule(new CoordinatorInput.FailureExpired(1), 300_000))
                .containsSubsequence(
                        launch(3, 2, Map.of(), 0, 1),
                        new PrintNotice("continuing without node2 for now: " + why),
                        new CoolDownNode(1, why),
                        launch(4, 3, Map.of(), 0, 2));
        CoordinatorInput[] seldom = concat(concat(twice, new CoordinatorInput.FailureExpired(1)), failsOnTheSecond(3));
        assertThat(playFromStart(spared, 3, seldom))
                .noneMatch(CoolDownNode.class::isInstance)
                .contains(launch(4, 3, Map.of(), 0, 1));
        assertThat(playFromStart(machine(5, 3, 3, 0, Optional.empty()), 3, concat(twice, failsOnTheSecond(3))))
                .as("there is no other")
                .noneMatch(CoolDownNode.class::isInstance);
    }

    private JobOutcome outcome() {
        assertThat(state).isInstanceOf(JobState.Finished.class);
        return ((JobState.Finished) Objects.requireNonNull(state)).outcome();
    }

    private static CoordinatorInput ended(int round, int rank, int exitCode) {
        return new WorkerProcessEnded(round, Ends.of(rank, exitCode));
    }

    private static CoordinatorInput joined(int round, int nodeRank) {
        int first = 2 * nodeRank;
        return new NodeWorkersJoined(
                nodeRank,
                round,
                List.of(
                        new Endpoint(first, 5000 + first, 70 + first),
                        new Endpoint(first + 1, 5001 + first, 71 + first)));
    }
}
