package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.Placement;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * A node's agent as {@link SimulatedCluster} sees it, from one opening of the job to its end; its workers act at
 * random.
 */
final class SimulatedAgent {
    /** A worker process. */
    static final class Worker {
        final long pid;
        final int round;
        final int rank;
        boolean parked;
        boolean toldToStop;

        Worker(long pid, int round, int rank) {
            this.pid = pid;
            this.round = round;
            this.rank = rank;
        }
    }

    private final int id;
    private final Random random;
    private final SimulatedTime time;
    private final Consumer<CoordinatorInput> toCoordinator;
    private final boolean elastic;
    private final Map<Long, Worker> living = new TreeMap<>();
    private static final long FIRST_PID = 1000;
    private long nextPid;
    private int round;
    private int owedJoins;
    private boolean spares;
    private boolean ended;

    SimulatedAgent(
            int id, Random random, SimulatedTime time, boolean elastic, Consumer<CoordinatorInput> toCoordinator) {
        this.id = id;
        this.random = random;
        this.time = time;
        this.elastic = elastic;
        this.toCoordinator = toCoordinator;
        this.nextPid = FIRST_PID * (id + 1) + random.nextInt(100);
    }

    /** Processes that run, parked ones among them. */
    List<Worker> living() {
        return List.copyOf(living.values());
    }

    /** Its stream to the coordinator has ended. */
    void end() {
        ended = true;
        living.clear();
    }

    void launch(int number, Membership membership) {
        round = number;
        spares = true;
        List<Placement> here = membership.ranks().onNode(membership.nodeRank(id));
        owedJoins = here.size();
        living.values().removeIf(worker -> !membership.kept().containsValue(worker.pid));
        for (Placement place : here) {
            long kept = membership.kept().getOrDefault(place.rank(), 0L);
            if (kept != 0 && !living.containsKey(kept)) {
                send(new CoordinatorInput.WorkerProcessEnded(number, Ends.of(place.rank(), 126)));
                continue;
            }
            living.remove(kept);
            Worker worker = new Worker(kept == 0 ? nextPid++ : kept, number, place.rank());
            living.put(worker.pid, worker);
            send(new CoordinatorInput.WorkerProcessStarted(number, worker.rank, worker.pid));
            act(worker, 1 + random.nextInt(3000), () -> join(worker, here));
            act(worker, 500 + random.nextInt(120_000), () -> liveOn(worker));
        }
    }

    private void join(Worker worker, List<Placement> here) {
        if (elastic) {
            send(new CoordinatorInput.WorkerElastic(worker.round, worker.rank));
        }
        if (--owedJoins == 0) {
            List<CoordinatorInput.Endpoint> endpoints = here.stream()
                    .map(place -> new CoordinatorInput.Endpoint(place.rank(), 1, 1))
                    .toList();
            send(new CoordinatorInput.NodeWorkersJoined(id, worker.round, endpoints));
        }
    }

    private void liveOn(Worker worker) {
        switch (random.nextInt(6)) {
            case 0 -> exit(worker, 1 + random.nextInt(2) * 64); // 65 among them
            case 1 -> {
                send(new CoordinatorInput.WorkerHung(worker.rank, worker.round, worker.pid, "hangs"));
                worker.toldToStop = true;
                exit(worker, 137);
            }
            case 2 -> {
                if (elastic) {
                    park(worker, "has lost a peer");
                }
            }
            default -> {
                send(new CoordinatorInput.WorkerLeaving(worker.rank, worker.round, "left"));
                act(worker, random.nextInt(500), () -> exit(worker, 0));
            }
        }
    }

    private void park(Worker worker, String why) {
        worker.parked = true;
        send(new CoordinatorInput.WorkerProcessParked(worker.round, worker.rank, worker.pid, why));
    }

    private void exit(Worker worker, int code) {
        living.remove(worker.pid);
        WorkerResult end = worker.toldToStop ? Ends.stopped(worker.rank, code) : Ends.of(worker.rank, code);
        send(new CoordinatorInput.WorkerProcessEnded(worker.round, end));
    }

    void stop(int signal, long graceMillis, boolean spareElastic) {
        spares &= spareElastic;
        for (Worker worker : living()) {
            if (worker.round != round || (worker.parked && spares)) {
                continue;
            }
            boolean mayPark = elastic && spares && !worker.parked;
            boolean stubborn = signal != 9 && random.nextInt(4) == 0;
            worker.toldToStop |= !mayPark;
            if (!stubborn) {
                long soon = signal == 9 ? 1 : random.nextInt((int) Math.max(1, graceMillis));
                act(worker, soon, () -> {
                    if (mayPark && spares) {
                        park(worker, "");
                    } else {
                        exit(worker, signal == 9 ? 137 : 143);
                    }
                });
            }
            time.in(graceMillis + 1, () -> {
                if (living.containsKey(worker.pid) && !(worker.parked && spares) && worker.round == round) {
                    worker.toldToStop = true;
                    exit(worker, 137);
                }
            });
        }
    }

    void regroup(int number) {
        for (Worker worker : living()) {
            if (worker.round == number && !worker.parked) {
                act(worker, random.nextInt(2000), () -> park(worker, ""));
            }
        }
    }

    /** Something that a worker does by itself, if it then still can. */
    private void act(Worker worker, long millis, Runnable action) {
        time.in(millis, () -> {
            if (!ended && worker.equals(living.get(worker.pid)) && !worker.parked) {
                action.run();
            }
        });
    }

    private void send(CoordinatorInput event) {
        if (!ended) {
            toCoordinator.accept(event);
        }
    }
}
