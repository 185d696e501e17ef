package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

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
import io.jrun.launcher.coordinator.JobMachine.Transition;
import io.jrun.launcher.coordinator.StopCause.NodeLost;
import io.jrun.launcher.coordinator.StopCause.Signalled;
import io.jrun.launcher.coordinator.StopCause.TimedOut;
import io.jrun.launcher.coordinator.StopCause.WorkerFailed;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.RankMap;
import io.jrun.launcher.layout.Rules;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class JobMachineTest {
    private static final RankMap TWO_NODES = Layout.place(
            List.of(
                    new Node(0, "node1", "10.0.0.1", 2, List.of(), 0),
                    new Node(1, "node2", "10.0.0.2", 2, List.of(), 0)),
            new Rules(_ -> new WorkerCount.Exactly(2), GpuVisibility.ALL));

    private final JobMachine machine = machine(0);

    private static JobMachine machine(int maxRestarts) {
        return new JobMachine(TWO_NODES, new StopPolicy(maxRestarts, Duration.ofSeconds(30), Set.of()));
    }

    @Test
    void jobSucceedsWhenEveryWorkerHas() {
        List<JobAction> actions = play(machine, ended(1, 0, 0), ended(1, 3, 0), ended(1, 2, 0), ended(1, 1, 0));
        assertThat(actions.getFirst()).isEqualTo(new Launch(1, 0));
        Outcome outcome = outcome(actions);
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.cause()).isEmpty();
        assertThat(outcome.ends()).extracting(WorkerEnd::rank).containsExactly(0, 3, 2, 1);
    }

    @Test
    void peerTableGoesOutOnceWhenAllNodesHaveJoined() {
        List<JobAction> actions = play(machine, joined(1, 1), joined(1, 0), joined(1, 0));
        assertThat(actions.subList(1, actions.size()))
                .containsExactly(new SendPeers(
                        1,
                        List.of(
                                new Peer(0, 0, 0, "node1", "10.0.0.1", 5000, 70),
                                new Peer(1, 0, 1, "node1", "10.0.0.1", 5001, 71),
                                new Peer(2, 1, 0, "node2", "10.0.0.2", 5002, 72),
                                new Peer(3, 1, 1, "node2", "10.0.0.2", 5003, 73))));
    }

    @Test
    void othersHearOnceThatARankHasLeft() {
        List<JobAction> actions = play(
                machine,
                new WorkerLeaving(2, 1, "closed its world"),
                new WorkerLeaving(2, 1, "returned from main"),
                ended(1, 2, 0),
                ended(1, 0, 0));
        assertThat(actions.subList(1, actions.size()))
                .containsExactly(
                        new TellRankLeft(1, 2, "closed its world"), new TellRankLeft(1, 0, "exited with code 0"));
    }

    @Test
    void firstFailureStopsEverybodyAndIsTheCause() {
        List<JobAction> actions = play(
                machine,
                ended(1, 2, 42),
                new WorkerEnded(1, Ends.stopped(0, 1)),
                new WorkerEnded(1, Ends.stopped(1, 137)),
                new WorkerEnded(1, Ends.stopped(3, 0)));
        assertThat(actions)
                .startsWith(
                        new Launch(1, 0),
                        new Abort(1, "rank 2 on node1 exited with code 42 (pid 1002)"),
                        new Stop(15, 30_000),
                        new WatchStop(1, 40_000));
        assertThat(outcome(actions).exitCode()).isEqualTo(42);
        assertThat(outcome(actions).cause()).contains(new WorkerFailed(Ends.of(2, 42)));
        assertThat(outcome(actions).ends()).hasSize(4);
    }

    @Test
    void restartWaitsForTheLastWorkerAndIsCountedForTheJob() {
        JobMachine restarting = machine(1);
        List<JobAction> actions =
                play(restarting, ended(1, 0, 1), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143), ended(2, 3, 7));
        assertThat(actions)
                .contains(new Say("rank 0 on node1 exited with code 1 (pid 1000); restart 1 of 1"), new Launch(2, 1));
        List<JobAction> all = play(
                restarting,
                ended(1, 0, 1),
                ended(1, 1, 143),
                ended(1, 2, 143),
                ended(1, 3, 143),
                ended(2, 3, 7),
                ended(2, 0, 143),
                ended(2, 1, 143),
                ended(2, 2, 143));
        assertThat(all.stream().filter(Launch.class::isInstance)).hasSize(2);
        assertThat(outcome(all).exitCode()).isEqualTo(7);
        assertThat(outcome(all).restarts()).isEqualTo(1);
    }

    @Test
    void hungWorkerStopsTheJobAndIsStartedAgain() {
        List<JobAction> actions = play(
                machine(1),
                new WorkerHung(2, 1, 70, "has given no sign of life for 5 s"),
                new WorkerEnded(1, Ends.stopped(2, 137)),
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
                        new Abort(1, "rank 2 on node2 has given no sign of life for 5 s"),
                        new Say("rank 2 on node2 has given no sign of life for 5 s; restart 1 of 1"),
                        new Abort(2, "rank 0 on node1 hangs again"));
        assertThat(outcome(actions).cause()).contains(new StopCause.WorkerHung(0, "node1", 71, "hangs again"));
        assertThat(outcome(actions).exitCode()).isEqualTo(75);
    }

    @Test
    void workerThatAsksNotToBeStartedAgainIsNot() {
        List<JobAction> actions =
                play(machine(3), ended(1, 1, 65), ended(1, 0, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(actions.stream().filter(Launch.class::isInstance)).hasSize(1);
        assertThat(outcome(actions).exitCode()).isEqualTo(65);
    }

    @Test
    void newsOfAnEarlierRoundChangeNothing() {
        JobMachine restarting = machine(1);
        List<JobAction> before = play(restarting, ended(1, 0, 1), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        List<JobAction> after = play(
                restarting,
                ended(1, 0, 1),
                ended(1, 1, 143),
                ended(1, 2, 143),
                ended(1, 3, 143),
                ended(1, 3, 9),
                new WorkerLeaving(1, 1, "left"),
                joined(1, 0),
                joined(1, 1),
                new GraceIsOver(1));
        assertThat(after).isEqualTo(before);
    }

    @Test
    void signalIsForwardedWithOneGracePeriodAndTheSecondKills() {
        List<JobAction> actions = play(
                machine,
                new SignalCame(StopSignal.INT),
                new SignalCame(StopSignal.INT),
                ended(1, 0, 130),
                ended(1, 1, 0),
                ended(1, 2, 137),
                ended(1, 3, 137));
        assertThat(actions)
                .containsSubsequence(
                        new Abort(1, "jrun got SIGINT"),
                        new Stop(2, 30_000),
                        new Say("killing the workers at once"),
                        new Stop(9, 0));
        assertThat(outcome(actions).exitCode()).isEqualTo(130);
        assertThat(outcome(actions).cause()).contains(new Signalled(StopSignal.INT));
    }

    @Test
    void signalWhileStoppingForAFailureEndsTheGracePeriodAndTheRestarts() {
        List<JobAction> actions = play(
                machine(5),
                ended(1, 0, 3),
                new SignalCame(StopSignal.INT),
                ended(1, 1, 137),
                ended(1, 2, 137),
                ended(1, 3, 137));
        assertThat(actions).contains(new Stop(9, 0));
        assertThat(outcome(actions).exitCode()).isEqualTo(3);
    }

    @Test
    void checkpointSignalsDoNotEndTheJob() {
        assertThat(play(machine, new SignalCame(StopSignal.USR1), new SignalCame(StopSignal.USR2)))
                .containsExactly(new Launch(1, 0), new Checkpoint(10), new Checkpoint(12));
    }

    @Test
    void timeoutEndsTheJobWith124() {
        List<JobAction> actions = play(
                machine(3), new TimeIsUp(), ended(1, 0, 143), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(outcome(actions).exitCode()).isEqualTo(124);
        assertThat(outcome(actions).cause()).contains(new TimedOut());
    }

    @Test
    void lostAgentEndsTheJobOnTheOtherNodes() {
        List<JobAction> actions =
                play(machine(3), new NodeGone(1, "connection reset"), ended(1, 0, 143), ended(1, 1, 143));
        assertThat(actions).contains(new Stop(15, 30_000));
        assertThat(outcome(actions).exitCode()).isEqualTo(69);
        assertThat(outcome(actions).cause()).contains(new NodeLost("node2", "connection reset"));
        assertThat(outcome(actions).ends()).extracting(WorkerEnd::rank).containsExactlyInAnyOrder(0, 1, 2, 3);
    }

    @Test
    void stoppedAgentEndsTheJobWhateverRestartsAreLeft() {
        String why = "it was stopped, and its workers with it";
        List<JobAction> actions = play(
                machine(3),
                new WorkerEnded(1, Ends.stopped(2, 137)),
                new WorkerEnded(1, Ends.stopped(3, 137)),
                new NodeGone(1, "the agent ended the job's control stream"),
                ended(1, 0, 143),
                ended(1, 1, 143));
        assertThat(actions).contains(new Abort(1, "the agent of node1 was lost: " + why), new Stop(15, 30_000));
        assertThat(actions.stream().filter(Launch.class::isInstance)).hasSize(1);
        assertThat(outcome(actions).cause()).contains(new NodeLost("node1", why));
        assertThat(outcome(actions).exitCode()).isEqualTo(69);
    }

    @Test
    void timeoutDuringAStopForARestartEndsTheJob() {
        List<JobAction> actions =
                play(machine(3), ended(1, 0, 1), new TimeIsUp(), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(actions.stream().filter(Launch.class::isInstance)).hasSize(1);
        assertThat(outcome(actions).cause()).contains(new TimedOut());
    }

    @Test
    void timeoutDuringTheLastStopLeavesTheFirstCause() {
        List<JobAction> actions =
                play(machine, ended(1, 0, 7), new TimeIsUp(), ended(1, 1, 143), ended(1, 2, 143), ended(1, 3, 143));
        assertThat(outcome(actions).cause()).contains(new WorkerFailed(Ends.of(0, 7)));
    }

    @Test
    void agentLostDuringAStopForARestartEndsTheJob() {
        List<JobAction> actions = play(machine(3), ended(1, 0, 1), new NodeGone(1, "reset"), ended(1, 1, 143));
        assertThat(actions.stream().filter(Launch.class::isInstance)).hasSize(1);
        assertThat(outcome(actions).cause()).contains(new NodeLost("node2", "reset"));
        assertThat(outcome(actions).ends()).hasSize(4);
    }

    @Test
    void agentsThatDoNotReportDoNotHoldTheJob() {
        List<JobAction> actions = play(machine(3), ended(1, 0, 1), new GraceIsOver(1));
        assertThat(outcome(actions).exitCode()).isEqualTo(1);
        assertThat(actions.stream().filter(Launch.class::isInstance)).hasSize(1);
    }

    private static List<JobAction> play(JobMachine machine, JobEvent... events) {
        Transition transition = machine.start();
        List<JobAction> actions = new ArrayList<>(transition.actions());
        for (JobEvent event : events) {
            transition = machine.next(transition.state(), event);
            actions.addAll(transition.actions());
        }
        return actions;
    }

    private static Outcome outcome(List<JobAction> actions) {
        assertThat(actions.stream().filter(Finish.class::isInstance)).hasSize(1);
        return ((Finish) actions.getLast()).outcome();
    }

    private static JobEvent ended(int round, int rank, int exitCode) {
        return new WorkerEnded(round, Ends.of(rank, exitCode));
    }

    private static JobEvent joined(int round, int nodeRank) {
        int first = 2 * nodeRank;
        return new NodeJoined(
                nodeRank,
                round,
                List.of(
                        new Endpoint(first, 5000 + first, 70 + first),
                        new Endpoint(first + 1, 5001 + first, 71 + first)));
    }
}
