package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.coordinator.JobEvent.GraceIsOver;
import io.jrun.launcher.coordinator.JobEvent.NodeGone;
import io.jrun.launcher.coordinator.JobEvent.NodeJoined;
import io.jrun.launcher.coordinator.JobEvent.SignalCame;
import io.jrun.launcher.coordinator.JobEvent.TimeIsUp;
import io.jrun.launcher.coordinator.JobEvent.WorkerEnded;
import io.jrun.launcher.coordinator.JobEvent.WorkerLeaving;
import io.jrun.launcher.coordinator.JobMachine.Transition;
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
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Random jobs against simulated agents: workers join, leave, succeed, fail, ignore being stopped; agents vanish or are stopped; signals and
 * the timeout come at any moment. After every event the promises of the machine are checked; a failure names its seed.
 */
class JobMachineSimulationTest {
    @Test
    void promisesHold() {
        Seeds.forEach(seed -> new Simulation(seed).run());
    }

    /** One job. */
    private static final class Simulation {
        private static final int MAX_EVENTS = 10_000;
        private static final List<StopSignal> SIGNALS = List.of(StopSignal.values());

        private final Random random;
        private final RankMap ranks;
        private final StopPolicy policy;
        private final JobMachine machine;
        private final Set<Integer> alive = new TreeSet<>();
        private final Set<Integer> livingNodes = new TreeSet<>();
        private final List<JobAction> actions = new ArrayList<>();
        private final Set<Integer> toldLeft = new TreeSet<>();
        private int round;
        private int launches;
        private boolean stopped;
        private boolean killed;
        private boolean peersSent;
        private boolean finished;
        private boolean timeIsUp;
        private boolean agentStopped;

        Simulation(int seed) {
            random = new Random(seed);
            List<Node> nodes = new ArrayList<>();
            int nodeCount = 1 + random.nextInt(3);
            for (int i = 0; i < nodeCount; i++) {
                nodes.add(new Node(i, "n" + i, "10.0.0." + i, 4, List.of(), 0));
                livingNodes.add(i);
            }
            List<WorkerCount> counts = nodes.stream()
                    .<WorkerCount>map(_ -> new WorkerCount.Exactly(1 + random.nextInt(3)))
                    .toList();
            ranks = Layout.place(nodes, new Rules(counts::get, GpuVisibility.ALL));
            policy = new StopPolicy(random.nextInt(3), Duration.ofSeconds(30), Set.of());
            machine = new JobMachine(ranks, policy);
        }

        void run() {
            Transition transition = machine.start();
            apply(transition);
            for (int i = 0; i < MAX_EVENTS && !finished; i++) {
                transition = machine.next(transition.state(), event());
                apply(transition);
            }
            assertThat(finished).as("the job ends").isTrue();
            JobState end = transition.state();
            for (int i = 0; i < 20; i++) {
                transition = machine.next(transition.state(), event());
                assertThat(transition.actions())
                        .as("nothing happens after the end")
                        .isEmpty();
                assertThat(transition.state()).isEqualTo(end);
            }
        }

        private JobEvent event() {
            int dice = random.nextInt(100);
            if (dice < 3) {
                return new SignalCame(SIGNALS.get(random.nextInt(SIGNALS.size())));
            }
            if (dice < 4) {
                timeIsUp = true;
                return new TimeIsUp();
            }
            if (dice < 6 && !livingNodes.isEmpty()) {
                return nodeGone();
            }
            if (dice < 7) {
                return new GraceIsOver(Math.max(1, round - 1));
            }
            if (dice < 12) {
                return new WorkerEnded(round - 1, Ends.of(random.nextInt(ranks.worldSize()), 1)); // a straggler's news
            }
            if (alive.isEmpty()) {
                return new GraceIsOver(round);
            }
            int rank = List.copyOf(alive).get(random.nextInt(alive.size()));
            if (dice < 30) {
                return new WorkerLeaving(rank, round, "left");
            }
            if (dice < 50) {
                int nodeRank = random.nextInt(ranks.nodes().size());
                return new NodeJoined(
                        nodeRank,
                        round,
                        ranks.onNode(nodeRank).stream()
                                .map(place -> new JobEvent.Endpoint(place.rank(), 1, 1))
                                .toList());
            }
            alive.remove(rank);
            if (dice < 52 && !stopped) {
                agentStopped = true;
                return new WorkerEnded(round, Ends.stopped(rank, 137)); // its agent was told to end
            }
            boolean fails = killed || random.nextInt(4) == 0;
            return new WorkerEnded(round, stopped ? Ends.stopped(rank, fails ? 137 : 0) : Ends.of(rank, fails ? 1 : 0));
        }

        private JobEvent nodeGone() {
            int nodeRank = List.copyOf(livingNodes).get(random.nextInt(livingNodes.size()));
            livingNodes.remove(nodeRank);
            ranks.onNode(nodeRank).forEach(place -> alive.remove(place.rank()));
            return new NodeGone(nodeRank, "gone");
        }

        private void apply(Transition transition) {
            actions.addAll(transition.actions());
            for (JobAction action : transition.actions()) {
                assertThat(finished).as("finish is the last action").isFalse();
                check(action);
            }
        }

        private void check(JobAction action) {
            switch (action) {
                case JobAction.Launch(int number, int restartCount) -> {
                    assertThat(alive)
                            .as("a round starts after the last worker of the one before")
                            .isEmpty();
                    assertThat(livingNodes)
                            .as("no round starts while a node is dead")
                            .hasSameSizeAs(ranks.nodes());
                    assertThat(timeIsUp).as("no round starts after the timeout").isFalse();
                    assertThat(agentStopped)
                            .as("no round starts after an agent was stopped")
                            .isFalse();
                    assertThat(number).isEqualTo(round + 1);
                    assertThat(restartCount).isEqualTo(launches).isLessThanOrEqualTo(policy.maxRestarts());
                    round = number;
                    launches++;
                    stopped = false;
                    killed = false;
                    peersSent = false;
                    toldLeft.clear();
                    ranks.placements().forEach(place -> alive.add(place.rank()));
                }
                case JobAction.SendPeers(int number, List<JobAction.Peer> peers) -> {
                    assertThat(number).isEqualTo(round);
                    assertThat(peersSent).as("one peer table a round").isFalse();
                    assertThat(peers).hasSize(ranks.worldSize());
                    peersSent = true;
                }
                case JobAction.TellRankLeft(int number, int rank, String _) -> {
                    assertThat(number).isEqualTo(round);
                    assertThat(toldLeft.add(rank)).as("a rank leaves once").isTrue();
                }
                case JobAction.Abort(int number, String _) -> {
                    assertThat(number).isEqualTo(round);
                    assertThat(stopped).as("one abort a round").isFalse();
                }
                case JobAction.Stop(int signal, long grace) -> {
                    assertThat(grace).isEqualTo(signal == 9 ? 0 : 30_000);
                    stopped = true;
                    killed |= signal == 9;
                }
                case JobAction.Finish(Outcome outcome) -> {
                    finished = true;
                    assertThat(outcome.ends()).as("every worker's end is told").hasSize(ranks.worldSize());
                    assertThat(outcome.cause().isEmpty())
                            .as("success is when all succeeded and nobody was stopped")
                            .isEqualTo(outcome.exitCode() == 0);
                    if (agentStopped) {
                        assertThat(outcome.exitCode())
                                .as("a stopped agent is no worker's failure")
                                .isEqualTo(69);
                    }
                }
                case JobAction.Checkpoint _ -> assertThat(stopped).isFalse();
                case JobAction.WatchStop(int number, long _) ->
                    assertThat(number).isEqualTo(round);
                case JobAction.Say _ -> assertThat(finished).isFalse();
            }
        }
    }
}
