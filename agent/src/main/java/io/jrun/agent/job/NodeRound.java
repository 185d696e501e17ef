package io.jrun.agent.job;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.guard.Guard;
import io.jrun.agent.log.ConsoleFeed;
import io.jrun.agent.log.LogLimit;
import io.jrun.agent.node.OomKills;
import io.jrun.agent.node.ProcessState;
import io.jrun.agent.proto.AbortReceipt;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.LocateWorker;
import io.jrun.agent.proto.RanksLeft;
import io.jrun.agent.proto.RegroupRound;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerHungReport;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.agent.proto.WorkerStartedReport;
import io.jrun.agent.worker.LaunchContext;
import io.jrun.agent.worker.ParentDeath;
import io.jrun.agent.worker.WorkerExit;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The workers of one round on this node. Confined to the job's thread. */
final class NodeRound {
    /** The parts of the job that a round uses. */
    record RoundContext(
            LaunchContext context,
            JobContainers containers,
            Bytes secret,
            ParentDeath parentDeath,
            Guard guard,
            Optional<LogLimit> logLimit,
            ConsoleFeed feed,
            WorkerInput input,
            JobEventLoop mailbox,
            ResponseStream<ControlResponse> out,
            UserNotices notices) {}

    private static final Path ROOT = Path.of("/");
    private static final int DIED_OF_SIGKILL = 137;
    private static final long NO_PROCESS = 0;
    private static final String NO_FILES = "";

    private final LaunchRound launch;
    private final RoundContext roundContext;
    private final Map<Integer, Worker> living = new TreeMap<>();
    private final Map<Integer, Long> pids = new TreeMap<>();
    private final Map<Worker, WorkerConnection> carried = new HashMap<>();
    private final Map<Integer, String> statesAtAbort = new HashMap<>();
    private final NodeRendezvous rendezvous;
    private final WorkerLocations locations;
    private final WorkerStopper stopping;
    private final LivenessMonitor liveness;
    private final LoadMonitor loads;
    private final LastFrames lastFrames;
    private final OptionalLong oomKillsBefore = OomKills.count(ROOT);
    private final List<ControlRequest> beforeStart = new ArrayList<>();
    private @Nullable NodeRound before;
    private boolean started;
    private long mark;

    /** Whether processes with the mark may be left, and no continuing worker has the mark. */
    private boolean marked;

    private boolean killed;
    private Runnable whenReaped = () -> {};

    NodeRound(LaunchRound launch, RoundContext roundContext) {
        this.launch = launch;
        this.roundContext = roundContext;
        this.rendezvous = new NodeRendezvous(
                launch,
                roundContext.context().runId(),
                roundContext.secret(),
                roundContext.out(),
                roundContext.notices());
        this.liveness = new LivenessMonitor(launch, roundContext.mailbox(), this::hung);
        this.loads = new LoadMonitor(roundContext.mailbox(), roundContext.out());
        this.lastFrames = new LastFrames(rendezvous, roundContext.mailbox());
        this.locations = new WorkerLocations(rendezvous, roundContext.mailbox(), roundContext.out());
        this.stopping = new WorkerStopper(
                living.values(),
                rendezvous.parking(),
                roundContext.mailbox(),
                launch.getProgram().hasJava());
    }

    /**
     * Starts the round after all workers of the round before have been reaped, except those that continue. A stopped
     * worker in the middle of a write into shared memory might continue at any time.
     */
    void startAfter(@Nullable NodeRound previous) {
        before = previous;
        if (previous == null) {
            start();
            return;
        }
        for (WorkerSpec spec : launch.getWorkersList()) {
            if (spec.getKeepPid() != NO_PROCESS) {
                takeOver(spec, previous);
            }
        }
        previous.closeConnections();
        previous.killAll();
        previous.whenReaped(this::start);
    }

    /** Takes over a parked worker. A worker that has ended is reported when this round starts. */
    private void takeOver(WorkerSpec spec, NodeRound previous) {
        Worker worker = previous.living.values().stream()
                .filter(each -> each.pid() == spec.getKeepPid())
                .findFirst()
                .orElse(null);
        if (worker == null || !previous.rendezvous.parking().isParked(worker.rank())) {
            return;
        }
        WorkerConnection connection = previous.rendezvous.release(worker.rank());
        if (connection != null) {
            previous.living.remove(worker.rank());
            previous.marked = false; // the continuing worker keeps the mark until the job ends
            carried.put(worker, connection);
            living.put(spec.getRank(), worker);
            worker.goOnIn(this, launch.getRound(), spec);
        }
    }

    private void start() {
        before = null;
        started = true;
        if (!killed) {
            mark = roundContext.guard().beginRound(launch.getRound());
            roundContext
                    .input()
                    .expect(launch.getWorkersList().stream()
                            .filter(WorkerSpec::getStdin)
                            .map(WorkerSpec::getRank)
                            .collect(Collectors.toSet()));
            if (launch.getBindTo() == BindPolicy.BIND_POLICY_GPU) {
                LaunchContext context = roundContext.context();
                context.binding().problems(launch, context.node().host()).forEach(roundContext.notices());
            }
            launch.getWorkersList().forEach(this::start);
            marked = true;
        }
        beforeStart.forEach(this::handle);
        beforeStart.clear();
        notifyIfReaped();
    }

    private void start(WorkerSpec spec) {
        Worker worker = living.get(spec.getRank());
        if (worker != null) {
            started(worker);
            rendezvous.adopt(Objects.requireNonNull(carried.get(worker)), spec);
        } else if (spec.getKeepPid() != NO_PROCESS) {
            if (carried.keySet().stream().noneMatch(gone -> gone.rank() == spec.getRank())) {
                exited(
                        spec.getRank(),
                        NO_FILES,
                        WorkerExit.notStarted("process " + spec.getKeepPid() + ", which should continue in round "
                                + launch.getRound() + ", has ended"));
            }
        } else {
            try {
                living.put(spec.getRank(), Worker.start(this, launch, spec, roundContext, mark));
            } catch (IOException e) {
                exited(spec.getRank(), NO_FILES, WorkerExit.notStarted(String.valueOf(e.getMessage())));
            } catch (ContainerException e) {
                exited(spec.getRank(), NO_FILES, WorkerExit.notStarted(String.valueOf(e.getMessage()), e.exitCode()));
            }
        }
    }

    void handle(ControlRequest message) {
        if (!started) {
            beforeStart.add(message);
            return;
        }
        switch (message.getMessageCase()) {
            case PEER_TABLE -> rendezvous.complete(message.getPeerTable());
            case WORKER_FRAME -> rendezvous.forward(message.getWorkerFrame());
            case RANKS_LEFT -> rankLeft(message.getRanksLeft());
            case SIGNAL_WORKERS -> stopping.signal(message.getSignalWorkers());
            case STOP_WORKERS -> stopping.stop(message.getStopWorkers());
            case CHECKPOINT_NOW -> rendezvous.sendAll(new Frame.CheckpointNow());
            case ABORT_ROUND -> abort(message.getAbortRound());
            case LOCATE -> locate(message.getLocate());
            case REGROUP -> regroup(message.getRegroup());
            case OPEN_JOB, LAUNCH, PING, NODE_RELEASED, MESSAGE_NOT_SET ->
                throw new IllegalArgumentException(
                        "a message that a round does not handle: " + message.getMessageCase());
        }
    }

    private void locate(LocateWorker locate) {
        int rank = locate.getRank();
        if (locate.getRound() == launch.getRound()) {
            locations.find(locate, living.containsKey(rank) ? pids.getOrDefault(rank, NO_PROCESS) : NO_PROCESS);
        }
    }

    private void rankLeft(RanksLeft left) {
        if (left.getRound() == launch.getRound()) {
            left.getRanksList().forEach(rank -> rendezvous.rankLeft(rank, left.getHow()));
        }
    }

    private void abort(AbortRound abort) {
        if (abort.getRound() == launch.getRound()) {
            living.keySet().stream()
                    .filter(rank -> !rendezvous.hasJoined(rank))
                    .forEach(rank ->
                            statesAtAbort.put(rank, ProcessState.describe(ROOT, pids.getOrDefault(rank, NO_PROCESS))));
            rendezvous.abort(abort.getCause());
            roundContext
                    .out()
                    .send(ControlResponse.newBuilder()
                            .setAbortReceipt(AbortReceipt.newBuilder().setRound(abort.getRound()))
                            .build());
        }
    }

    private void regroup(RegroupRound regroup) {
        if (regroup.getRound() == launch.getRound()) {
            rendezvous.sendAll(new Frame.Regroup(regroup.getWhy()));
        }
    }

    /** Kills all workers, parked workers included. No worker is started after this call. */
    void killAll() {
        killed = true;
        stopping.killAll();
    }

    void received(WorkerConnection connection, Frame.FromWorker frame) {
        switch (frame) {
            case Frame.RecordReply(long id, Bytes record) -> locations.answered(connection, id, record);
            case Frame.Alive(long operations, boolean waiting) ->
                rendezvous.rank(connection).ifPresent(rank -> {
                    boolean parked = rendezvous.parking().isParked(rank);
                    liveness.report(rank, new Frame.Alive(operations, waiting || parked));
                });
            default -> rendezvous.received(connection, frame, pids);
        }
    }

    void ended(WorkerConnection connection, String problem) {
        Optional<Integer> rank = rendezvous.rank(connection);
        rank.ifPresent(liveness::remove);
        rendezvous.ended(connection, problem);
        rank.ifPresent(lastFrames::ended);
    }

    private void hung(int rank, String why) {
        Worker worker = living.get(rank);
        if (worker == null) {
            return;
        }
        long pid = pids.getOrDefault(rank, NO_PROCESS);
        roundContext
                .out()
                .send(ControlResponse.newBuilder()
                        .setWorkerHung(WorkerHungReport.newBuilder()
                                .setRank(rank)
                                .setRound(launch.getRound())
                                .setPid(pid)
                                .setWhy(why + "; " + ProcessState.describe(ROOT, pid)))
                        .build());
        worker.kill();
    }

    void closeConnections() {
        rendezvous.close();
    }

    /** Whether each worker has ended or waits for the next round. */
    boolean isOver() {
        return started && living.keySet().stream().allMatch(rendezvous.parking()::isParked);
    }

    /** Whether no process is left, also none of the round before, and the end of each process is reported. */
    boolean isReaped() {
        return living.isEmpty() && !lastFrames.isAwaited() && (before == null || before.isReaped());
    }

    /** Runs {@code action} once no process is left. Replaces an earlier action. */
    void whenReaped(Runnable action) {
        whenReaped = action;
        notifyIfReaped();
    }

    String describeLiving() {
        return living.values().stream()
                .filter(worker -> !rendezvous.parking().isParked(worker.rank()))
                .map(worker -> "rank " + worker.rank() + " (pid " + worker.pid() + ")")
                .collect(Collectors.joining(", ", "", " of round " + launch.getRound() + " not yet reaped"));
    }

    private void notifyIfReaped() {
        if (isReaped()) {
            stopping.over();
            if (marked) {
                marked = false;
                roundContext.guard().endRound(mark);
            }
            whenReaped.run();
        }
    }

    /** A worker's process has started, or a process of the round before continues in this round. */
    void started(Worker worker) {
        pids.put(worker.rank(), worker.pid());
        loads.started(worker.rank(), worker.pid());
        roundContext
                .out()
                .send(ControlResponse.newBuilder()
                        .setWorkerStarted(WorkerStartedReport.newBuilder()
                                .setRank(worker.rank())
                                .setPid(worker.pid())
                                .setLogFolder(worker.logFolder()))
                        .build());
        worker.token().ifPresent(token -> rendezvous.expect(worker.rank(), token));
        rendezvous.workerKnown(pids);
    }

    /** A worker's process was reaped, or could not be started. The report follows the last frame of the worker. */
    void exited(int rank, String logFolder, WorkerExit end) {
        living.remove(rank);
        loads.ended(rank);
        liveness.remove(rank);
        roundContext.input().ended(rank);
        lastFrames.after(rank, () -> report(rank, logFolder, end));
    }

    private void report(int rank, String logFolder, WorkerExit end) {
        WorkerExitedReport.Builder exited = WorkerExitedReport.newBuilder()
                .setRank(rank)
                .setRound(launch.getRound())
                .setPid(end.pid())
                .setExitCode(end.exitCode())
                .setAfterStop(end.afterStop())
                .setStartError(end.startError())
                .addAllStderrTail(end.stderrTail())
                .addAllArtifacts(end.artifacts())
                .setRunSeconds(end.runSeconds())
                .setLogFolder(logFolder)
                .setNotJoined(
                        rendezvous.hasJoined(rank)
                                ? ""
                                : statesAtAbort.getOrDefault(rank, "its process ended before it joined"))
                .setOomKilled(end.exitCode() == DIED_OF_SIGKILL && !end.afterStop() && oomKillsRose());
        end.error().ifPresent(exited::setError);
        roundContext
                .out()
                .send(ControlResponse.newBuilder().setWorkerExited(exited).build());
        notifyIfReaped();
    }

    private boolean oomKillsRose() {
        OptionalLong now = OomKills.count(ROOT);
        return oomKillsBefore.isPresent() && now.isPresent() && now.getAsLong() > oomKillsBefore.getAsLong();
    }
}
