package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import io.jrun.launcher.layout.LayoutRules;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One job of {@link ClusterSimulationTest}: the real machine and timers, simulated agents, links with delays. */
final class SimulatedCluster {
    private static final long GRACE_MILLIS = 5000;
    private static final long DAY_MILLIS = 86_400_000;
    private static final int MAX_STEPS = 100_000;
    private static final List<StopSignal> SIGNALS = List.of(StopSignal.values());

    private final Random random;
    private final SimulatedTime time = new SimulatedTime();
    private final NodePolicy nodes;
    private final StopPolicy policy;
    private final JobMachine machine;
    private final int called;
    private final int[] slots = new int[8];
    private final boolean elasticWorkers;
    private final Map<Integer, SimulatedAgent> agents = new TreeMap<>();
    private final Map<Integer, Long> lastArrival = new TreeMap<>();
    private final Set<SimulatedAgent> cutOff = new HashSet<>();
    private @Nullable JobState state;
    private @Nullable Membership membership;
    private int round;
    private int restarts;
    private final Map<Integer, List<Long>> failures = new TreeMap<>();
    private boolean finished;

    SimulatedCluster(int seed) {
        random = new Random(seed);
        called = 1 + random.nextInt(4);
        int spares = called > 1 && random.nextInt(3) == 0 ? 1 : 0;
        int max = called - spares + (random.nextInt(3) == 0 ? 1 : 0);
        int min = random.nextBoolean() ? Math.min(max, called - spares) : 1;
        Optional<Duration> window = random.nextBoolean() ? Optional.of(Duration.ofSeconds(100)) : Optional.empty();
        nodes = new NodePolicy(min, max, spares, Duration.ofSeconds(60), window, Duration.ofSeconds(30));
        policy = new StopPolicy(random.nextInt(8), Duration.ofMillis(GRACE_MILLIS), Set.of());
        elasticWorkers = random.nextBoolean();
        IntStream.range(0, slots.length).forEach(id -> slots[id] = 1 + random.nextInt(3));
        machine = new JobMachine(
                new RankAssignment(
                        nodes,
                        new LayoutRules(id -> new WorkerCount.Exactly(slots[id]), GpuVisibility.ALL),
                        same -> same),
                policy);
    }

    void run() {
        SortedMap<Integer, String> names = new TreeMap<>();
        IntStream.range(0, called).forEach(id -> names.put(id, "h" + id));
        apply(machine.start(names));
        for (int id = 0; id < slots.length; id++) {
            int node = id;
            boolean late = id >= called;
            if (!late || random.nextInt(4) == 0) {
                time.in(random.nextInt(late ? 100_000 : 3000), () -> open(node));
            }
        }
        scatterTrouble();
        int steps = 0;
        while (!finished && time.step()) {
            assertThat(++steps).as("the job ends").isLessThan(MAX_STEPS);
        }
        assertThat(finished).as("the job ends").isTrue();
        JobState end = state;
        for (int i = 0; i < 50 && time.step(); i++) {
            assertThat(state).as("nothing happens after the end").isEqualTo(end);
        }
    }

    private void scatterTrouble() {
        for (int i = random.nextInt(4); i > 0; i--) {
            int id = random.nextInt(called);
            time.in(random.nextInt(150_000), () -> cut(id));
        }
        if (random.nextInt(4) == 0) {
            StopSignal signal = SIGNALS.get(random.nextInt(SIGNALS.size()));
            time.in(random.nextInt(150_000), () -> happen(new CoordinatorInput.SignalReceived(signal)));
            time.in(random.nextInt(150_000), () -> happen(new CoordinatorInput.SignalReceived(signal)));
        }
        time.in(
                random.nextInt(3) == 0 ? random.nextInt(150_000) : DAY_MILLIS,
                () -> happen(new CoordinatorInput.JobTimeout()));
    }

    /** An agent answers the call, or does not. */
    private void open(int id) {
        int dice = random.nextInt(10);
        if (dice == 0) {
            return; // a host that never answers
        }
        if (dice == 1) {
            happen(new CoordinatorInput.NodeUnavailable(id, "h" + id, "no such host", false));
            reconnect(id);
            return;
        }
        SimulatedAgent[] agent = new SimulatedAgent[1];
        agent[0] = new SimulatedAgent(id, random, time, elasticWorkers, event -> arrive(id, agent[0], event));
        agents.put(id, agent[0]);
        arrive(
                id,
                agent[0],
                new CoordinatorInput.NodeOpened(id, new Node(id, "h" + id, "10.0.0." + id, 4, List.of(), 0)));
    }

    /**
     * Messages of one agent keep their order; what it has sent before it was lost may come or not, but never after
     * that.
     */
    private void arrive(int id, SimulatedAgent from, CoordinatorInput event) {
        long at = Math.max(lastArrival.getOrDefault(id, 0L), time.millis() + random.nextInt(50));
        lastArrival.put(id, at);
        time.in(at - time.millis(), () -> {
            if (from.equals(agents.get(id)) && !cutOff.contains(from)) {
                happen(event);
            }
        });
    }

    /** Power, network, or agent: from the coordinator's side all the same. */
    private void cut(int id) {
        SimulatedAgent agent = agents.get(id);
        if (agent != null) {
            if (random.nextBoolean()) {
                cutOff.add(agent);
            }
            time.in(random.nextInt(8000), () -> {
                if (agents.remove(id, agent)) {
                    agent.end();
                    happen(new CoordinatorInput.NodeUnavailable(id, "h" + id, "cut", false));
                    reconnect(id);
                }
            });
        }
    }

    private void reconnect(int id) {
        if (nodes.isElastic()) {
            time.in(nodes.coolDown().toMillis(), () -> open(id));
        }
    }

    private void happen(CoordinatorInput event) {
        JobState before = state;
        if (before != null) {
            Transition transition = machine.next(before, event);
            checkRest(before, event, transition);
            apply(transition);
        }
    }

    /**
     * A node whose workers are the first to fail time and again rests, as soon and as long as there are enough others.
     */
    private void checkRest(JobState before, CoordinatorInput event, Transition transition) {
        JobProgress after = transition.state().jobProgress();
        List<Integer> rests = transition.actions().stream()
                .flatMap(action -> action instanceof CoordinatorAction.CoolDownNode(int id, String _)
                        ? Stream.of(id)
                        : Stream.of())
                .toList();
        Optional<Integer> first = after.restarts() > before.jobProgress().restarts()
                ? before.cause()
                        .or(() -> failure(event))
                        .flatMap(SimulatedCluster::blamed)
                        .map(membership()::idOf)
                : Optional.empty();
        if (first.isEmpty()) {
            assertThat(rests).isEmpty();
            return;
        }
        int id = first.get();
        List<Long> times = failures.computeIfAbsent(id, _ -> new ArrayList<>());
        times.add(time.millis());
        long recent = times.stream()
                .filter(at -> time.millis() - at < nodes.failureWindow().toMillis())
                .count();
        long others = before.jobProgress().present().keySet().stream()
                .filter(other -> other != id)
                .count();
        boolean rest = nodes.isElastic()
                && recent >= NodePolicy.MOST_FAILURES
                && before.jobProgress().present().containsKey(id)
                && others >= nodes.min();
        assertThat(rests).as("h%s has failed %s times", id, recent).isEqualTo(rest ? List.of(id) : List.of());
    }

    /** The failure that ends a round at once, because the workers of the round have ended or left it before. */
    private static Optional<StopCause> failure(CoordinatorInput event) {
        return event instanceof CoordinatorInput.WorkerProcessEnded(int _, WorkerResult end)
                ? Optional.of(new StopCause.WorkerFailed(end))
                : Optional.empty();
    }

    private static Optional<Integer> blamed(StopCause cause) {
        return switch (cause) {
            case StopCause.WorkerFailed(WorkerResult end) -> Optional.of(end.rank());
            case StopCause.HungWorker(int rank, String _, long _, String _) -> Optional.of(rank);
            default -> Optional.empty();
        };
    }

    private void apply(Transition transition) {
        state = transition.state();
        for (CoordinatorAction action : transition.actions()) {
            perform(action);
        }
        if (state instanceof JobState.Finished(JobProgress _, JobOutcome outcome) && !finished) {
            finish(outcome);
        }
    }

    private void perform(CoordinatorAction action) {
        switch (action) {
            case CoordinatorAction.LaunchWorkers(int number, int restartCount, Membership next) ->
                launch(number, restartCount, next);
            case CoordinatorAction.StopRound(int signal, long graceMillis, boolean spares) -> {
                assertThat(graceMillis).isEqualTo(signal == 9 ? 0 : GRACE_MILLIS);
                toAll(agent -> agent.stop(signal, graceMillis, spares));
            }
            case CoordinatorAction.RequestRegroup(int number, String _) -> {
                assertThat(number).isEqualTo(round);
                toAll(agent -> agent.regroup(number));
            }
            case CoordinatorAction.Schedule(CoordinatorInput event, long millis) ->
                time.in(millis, () -> happen(event));
            case CoordinatorAction.ReleaseNode(int id, String _) -> {
                SimulatedAgent agent = agents.remove(id);
                if (agent != null) {
                    agent.end();
                }
            }
            case CoordinatorAction.CoolDownNode(int id, String why) -> {
                SimulatedAgent agent = Objects.requireNonNull(agents.remove(id));
                agent.end();
                time.in(1, () -> happen(new CoordinatorInput.NodeUnavailable(id, "h" + id, why, false)));
                reconnect(id);
            }
            case CoordinatorAction.SendPeers(int number, List<CoordinatorAction.PeerAddress> peers) -> {
                assertThat(number).isEqualTo(round);
                assertThat(peers).hasSize(membership().worldSize());
            }
            case CoordinatorAction.ReportRankLeft(int number, int _, String _) ->
                assertThat(number).isEqualTo(round);
            case CoordinatorAction.FailCollectives(int number, String _) ->
                assertThat(number).isEqualTo(round);
            case CoordinatorAction.RequestCheckpoint _, CoordinatorAction.PrintNotice _ -> {}
        }
    }

    private void toAll(Consumer<SimulatedAgent> order) {
        List.copyOf(agents.values()).stream()
                .filter(agent -> !cutOff.contains(agent))
                .forEach(agent -> time.in(1, () -> order.accept(agent)));
    }

    private Membership membership() {
        Membership current = membership;
        assertThat(current).isNotNull();
        return Objects.requireNonNull(current);
    }

    private void launch(int number, int restartCount, Membership next) {
        assertThat(number).as("rounds are numbered").isEqualTo(round + 1);
        assertThat(restartCount).as("restarts are counted").isBetween(restarts, restarts + 1);
        if (nodes.restartWindow().isEmpty()) {
            assertThat(restartCount).isLessThanOrEqualTo(policy.maxRestarts());
        }
        assertThat(next.ids()).as("nodes sit once").doesNotHaveDuplicates();
        assertThat(next.ids().size()).isBetween(nodes.min(), nodes.max());
        assertThat(agents.keySet()).as("each member of the round has an agent").containsAll(next.ids());
        assertThat(next.ranks().placements())
                .extracting(Placement::rank)
                .as("ranks are a permutation")
                .containsExactly(IntStream.range(0, next.worldSize()).boxed().toArray(Integer[]::new));
        checkWorkers(next);
        checkSeats(next);
        round = number;
        restarts = restartCount;
        membership = next;
        next.ids().forEach(id -> {
            SimulatedAgent agent = Objects.requireNonNull(agents.get(id));
            if (!cutOff.contains(agent)) {
                time.in(1, () -> agent.launch(number, next));
            }
        });
    }

    /** No worker is in two rounds: of the round before only those live that have left it. */
    private void checkWorkers(Membership next) {
        Set<Long> pids = new HashSet<>(next.kept().values());
        assertThat(pids).as("a process takes one rank").hasSize(next.kept().size());
        agents.forEach((id, agent) -> agent.living().forEach(worker -> {
            assertThat(worker.parked)
                    .as("rank %s of round %s on h%s has left its round", worker.rank, worker.round, id)
                    .isTrue();
        }));
        next.kept().forEach((rank, pid) -> {
            SimulatedAgent agent = agents.get(next.idOf(rank));
            long first = pid / 1000 - 1;
            assertThat(first).as("a process goes on where it is").isEqualTo(next.idOf(rank));
            assertThat(agent).isNotNull();
        });
    }

    /** A node that is still present keeps its seat, unless a seat before it is free. */
    private void checkSeats(Membership next) {
        Membership before = membership;
        if (before == null) {
            return;
        }
        List<Integer> stayed = before.ids().stream().filter(agents::containsKey).toList();
        List<Integer> kept = next.ids().stream().filter(stayed::contains).toList();
        assertThat(kept)
                .as("the order of nodes is stable")
                .isEqualTo(before.ids().stream().filter(kept::contains).toList());
        if (next.ids().size() >= before.ids().size()) {
            assertThat(kept).allSatisfy(id -> assertThat(next.nodeRank(id)).isEqualTo(before.nodeRank(id)));
        }
    }

    private void finish(JobOutcome outcome) {
        finished = true;
        assertThat(outcome.cause().isEmpty())
                .as("success is when nothing went wrong")
                .isEqualTo(outcome.exitCode() == 0);
        if (outcome.cause().isEmpty()) {
            assertThat(outcome.ends())
                    .allMatch(WorkerResult::isSuccess)
                    .hasSize(membership().worldSize());
        } else if (round > 0) {
            assertThat(outcome.ends())
                    .as("every worker's end is told")
                    .hasSize(membership().worldSize());
        }
    }
}
