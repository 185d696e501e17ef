package io.jrun.agent.job;

import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.guard.Guard;
import io.jrun.agent.log.ConsoleFeed;
import io.jrun.agent.node.OomKills;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.Launch;
import io.jrun.agent.proto.Locate;
import io.jrun.agent.proto.RankLeft;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.WorkerExited;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.agent.proto.WorkerStarted;
import io.jrun.agent.worker.JvmDefaults;
import io.jrun.agent.worker.LaunchContext;
import io.jrun.agent.worker.ParentDeath;
import io.jrun.agent.worker.WorkerCommand;
import io.jrun.agent.worker.WorkerEnd;
import io.jrun.agent.worker.WorkerEnvironment;
import io.jrun.agent.worker.WorkerLogs;
import io.jrun.agent.worker.WorkerPlan;
import io.jrun.agent.worker.WorkerProcess;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.RankLocation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The workers of one round on this node. Confined to the job's thread. */
final class Round {
    /** What a round finds around itself. */
    record Surroundings(
            LaunchContext context,
            Bytes secret,
            ParentDeath parentDeath,
            Guard guard,
            ConsoleFeed feed,
            Mailbox mailbox,
            Outbox<FromAgent> out,
            Notices notices) {}

    private static final int SIGUSR1 = 10;
    private static final int SIGUSR2 = 12;
    private static final int DIED_OF_SIGKILL = 137;
    private static final long NO_PROCESS = 0;

    private final Launch launch;
    private final Surroundings around;
    private final Map<Integer, WorkerProcess> living = new TreeMap<>();
    private final Map<Integer, Long> pids = new TreeMap<>();
    private final Rendezvous rendezvous;
    private final Locations locations;
    private final OptionalLong oomKillsBefore = OomKills.count(Path.of("/"));
    private @Nullable Future<?> killTimer;
    private long killAtNanos;
    private Runnable whenOver = () -> {};

    Round(Launch launch, Surroundings around) {
        this.launch = launch;
        this.around = around;
        this.rendezvous =
                new Rendezvous(launch, around.context().runId(), around.secret(), around.out(), around.notices());
        this.locations = new Locations(rendezvous, around.mailbox(), around.out());
    }

    void start() {
        if (launch.getRestartCount() == 0) {
            WorkerEnvironment.chosenThreads(launch, around.context())
                    .ifPresent(threads -> around.notices()
                            .accept("OMP_NUM_THREADS=" + threads + " for each worker ("
                                    + around.context().node().cores() + " usable cores, "
                                    + launch.getWorkersCount()
                                    + " local workers); set it to choose otherwise"));
        }
        for (WorkerSpec worker : launch.getWorkersList()) {
            start(worker);
        }
        tellIfOver();
    }

    private void start(WorkerSpec worker) {
        LaunchContext context = around.context();
        WorkerPlan plan = new WorkerPlan(
                worker.getRank(),
                WorkerCommand.compose(launch, worker, context),
                WorkerEnvironment.compose(launch, worker, context),
                Path.of(launch.getWorkingDir()),
                WorkerCommand.neededFiles(launch),
                context.rankLogDir(launch.getRestartCount(), worker.getRank()),
                JvmDefaults.addsVectorModule(launch));
        WorkerLogs logs;
        try {
            logs = new WorkerLogs(plan, around.feed()::changed, around.notices());
        } catch (IOException e) {
            exited(
                    worker,
                    WorkerEnd.notStarted("its log folder " + plan.logDir() + " cannot be written: " + e.getMessage()));
            return;
        }
        if (worker.getConsoleStdout()) {
            around.feed().add(worker.getRank(), launch.getRound(), false, worker.getTerminalStdout(), logs.stdout());
        }
        if (worker.getConsoleStderr()) {
            around.feed().add(worker.getRank(), launch.getRound(), true, worker.getTerminalStderr(), logs.stderr());
        }
        WorkerProcess process = new WorkerProcess(plan, logs, around.parentDeath(), around.guard(), new Events(worker));
        living.put(worker.getRank(), process);
        process.start();
    }

    void handle(ToAgent message) {
        switch (message.getMessageCase()) {
            case PEER_TABLE -> rendezvous.complete(message.getPeerTable());
            case STORE_REPLY -> rendezvous.storeReply(message.getStoreReply());
            case RANK_LEFT -> rankLeft(message.getRankLeft());
            case SIGNAL_WORKERS -> signal(message.getSignalWorkers());
            case STOP_WORKERS -> stop(message.getStopWorkers());
            case CHECKPOINT_NOW -> rendezvous.tellAll(new Frame.CheckpointNow());
            case ABORT_ROUND -> abort(message.getAbortRound());
            case LOCATE -> locate(message.getLocate());
            case LOCATION -> rendezvous.location(message.getLocation());
            case OPEN_JOB, LAUNCH, MESSAGE_NOT_SET ->
                throw new IllegalArgumentException("not for a round: " + message.getMessageCase());
        }
    }

    private void locate(Locate locate) {
        int rank = locate.getRank();
        if (locate.getRound() == launch.getRound()) {
            locations.find(locate, living.containsKey(rank) ? pids.getOrDefault(rank, NO_PROCESS) : NO_PROCESS);
        }
    }

    private void rankLeft(RankLeft left) {
        if (left.getRound() == launch.getRound()) {
            rendezvous.rankLeft(left.getRank(), left.getHow());
        }
    }

    private void abort(AbortRound abort) {
        if (abort.getRound() == launch.getRound()) {
            rendezvous.abort(abort.getCause());
        }
    }

    private void signal(SignalWorkers request) {
        int signal = request.getSignal();
        if (signal == SIGUSR2 && launch.getProgram().hasJava()) {
            return; // HotSpot's own handler, for suspending threads, takes it and complains on stderr
        }
        boolean killsByDefault = signal == SIGUSR1 || signal == SIGUSR2;
        living.values().forEach(worker -> worker.signal(signal, killsByDefault));
    }

    /** A later request may shorten the time an earlier one gave, not lengthen it. */
    private void stop(StopWorkers request) {
        if (request.getGraceMillis() == 0) {
            killAll();
            return;
        }
        living.values().forEach(worker -> worker.stop(request.getSignal()));
        long killAt = System.nanoTime() + request.getGraceMillis() * 1_000_000L;
        if (killTimer == null || killAt - killAtNanos < 0) {
            cancelKill();
            killAtNanos = killAt;
            killTimer = around.mailbox().postIn(request.getGraceMillis(), this::killAll);
        }
    }

    void killAll() {
        living.values().forEach(WorkerProcess::kill);
    }

    void received(WorkerConnection connection, Frame.FromWorker frame) {
        if (frame instanceof Frame.HereIAm(long id, RankLocation location)) {
            locations.answered(connection, id, location);
        } else {
            rendezvous.received(connection, frame, pids);
        }
    }

    void ended(WorkerConnection connection, String problem) {
        rendezvous.ended(connection, problem);
    }

    void closeConnections() {
        rendezvous.close();
    }

    boolean isOver() {
        return living.isEmpty();
    }

    /** Runs {@code action} once every worker is reaped. */
    void whenOver(Runnable action) {
        whenOver = action;
        tellIfOver();
    }

    String describeLiving() {
        return living.keySet().stream()
                .map(rank -> "rank " + rank + " (pid " + pids.getOrDefault(rank, 0L) + ")")
                .collect(Collectors.joining(", ", "", " of round " + launch.getRound() + " not yet reaped"));
    }

    private void tellIfOver() {
        if (living.isEmpty()) {
            cancelKill();
            whenOver.run();
        }
    }

    private void cancelKill() {
        if (killTimer != null) {
            killTimer.cancel(false);
        }
    }

    private void started(WorkerSpec worker, long pid) {
        pids.put(worker.getRank(), pid);
        around.out()
                .send(FromAgent.newBuilder()
                        .setWorkerStarted(WorkerStarted.newBuilder()
                                .setRank(worker.getRank())
                                .setPid(pid))
                        .build());
        rendezvous.workerKnown(pids);
    }

    private void exited(WorkerSpec worker, WorkerEnd end) {
        living.remove(worker.getRank());
        WorkerExited.Builder exited = WorkerExited.newBuilder()
                .setRank(worker.getRank())
                .setRound(launch.getRound())
                .setPid(end.pid())
                .setExitCode(end.exitCode())
                .setAfterStop(end.afterStop())
                .setStartError(end.startError())
                .addAllStderrTail(end.stderrTail())
                .addAllArtifacts(end.artifacts())
                .setRunSeconds(end.runSeconds())
                .setOomKilled(end.exitCode() == DIED_OF_SIGKILL && !end.afterStop() && oomKillsRose());
        end.error().ifPresent(exited::setError);
        around.out().send(FromAgent.newBuilder().setWorkerExited(exited).build());
        tellIfOver();
    }

    private boolean oomKillsRose() {
        OptionalLong now = OomKills.count(Path.of("/"));
        return oomKillsBefore.isPresent() && now.isPresent() && now.getAsLong() > oomKillsBefore.getAsLong();
    }

    /** Carries a worker's events to the job's thread. */
    private final class Events implements WorkerProcess.Listener {
        private final WorkerSpec worker;

        Events(WorkerSpec worker) {
            this.worker = worker;
        }

        @Override
        public void started(long pid) {
            around.mailbox().post(() -> Round.this.started(worker, pid));
        }

        @Override
        public void ended(WorkerEnd end) {
            around.mailbox().post(() -> exited(worker, end));
        }
    }
}
