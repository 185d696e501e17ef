package io.jrun.agent.job;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.control.ControlSocket;
import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.files.FileStaging;
import io.jrun.agent.files.StagedFiles;
import io.jrun.agent.guard.Guard;
import io.jrun.agent.log.AgentLog;
import io.jrun.agent.log.ConsoleFeed;
import io.jrun.agent.log.LogLimit;
import io.jrun.agent.node.MasterPort;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.Pong;
import io.jrun.agent.worker.JvmVariables;
import io.jrun.agent.worker.LaunchContext;
import io.jrun.agent.worker.ParentDeath;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.shm.SegmentNames;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One job on this node, from OpenJob to the end of the control stream. All events (messages, frames, exits, timers) run
 * on the job's single thread. The methods may be called from any thread and do not block, except where their comment
 * says so.
 */
final class Job {
    /**
     * Longest wait for the end of killed workers. A process in an uninterruptible wait receives SIGKILL only after this
     * wait.
     */
    private static final long END_SECONDS = 10;

    /** The exit code of shells for a missing program. */
    private static final int NOT_FOUND = 127;

    private final OpenJob request;
    private final ServiceOptions options;
    private final Optional<String> localAddress;
    private final Consumer<Job> onEnd;
    private final ResponseStream<ControlResponse> out;
    private final UserNotices notices;
    private final ConsoleFeed feed;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final JobEventLoop mailbox;
    private final LauncherLiveness launcher;
    private final FileStaging staging;
    private final WorkerInput input = new WorkerInput();
    private final JobContainers containers;

    private @Nullable Resources resources;
    private @Nullable PendingLaunch held;
    private @Nullable NodeRound round;
    private @Nullable AgentLog log;
    private @Nullable GpuMonitor gpus;
    private boolean ending;

    /** The resources of this machine that a job holds. */
    private record Resources(
            ControlSocket socket, Guard guard, @Nullable MasterPort masterPort, NodeRound.RoundContext roundContext)
            implements AutoCloseable {
        @Override
        public void close() throws IOException {
            if (masterPort != null) {
                masterPort.close();
            }
            socket.close();
            guard.close();
        }
    }

    Job(
            OpenJob request,
            ServiceOptions options,
            Optional<String> localAddress,
            ResponseStream<ControlResponse> out,
            Consumer<Job> onEnd) {
        this.onEnd = onEnd;
        this.request = request;
        this.options = options;
        this.localAddress = localAddress;
        this.out = out;
        out.onOverflow(this::overflown);
        this.notices = new UserNotices(out);
        this.feed = new ConsoleFeed(notices);
        this.mailbox = new JobEventLoop(this::fail);
        this.launcher = new LauncherLiveness(mailbox, this::launcherSilent);
        this.staging = new FileStaging(request, System.getenv(), notices);
        this.containers = new JobContainers(request);
    }

    /**
     * Acquires the resources of the job and answers JobOpened. Takes a few milliseconds, or longer on a node with GPUs.
     */
    void open() throws IOException {
        ParentDeath parentDeath = ParentDeath.find(System.getenv());
        NodeResources node = NodeProbe.probeHere();
        Path logDir = Path.of(request.getLogDir()); // may fail, so this comes before all resources
        ControlSocket socket = ControlSocket.bind();
        Guard guard = startGuard(socket, request.getRunId());
        MasterPort masterPort = request.getReserveMasterPort() ? reservePort(socket, guard) : null;
        LaunchContext context = new LaunchContext(
                node,
                options.agent(),
                request.getRunId(),
                logDir,
                socket.path(),
                JvmVariables.restored(System.getenv()));
        Bytes secret = Bytes.of(request.getJobSecret().toByteArray());
        resources = new Resources(
                socket,
                guard,
                masterPort,
                new NodeRound.RoundContext(
                        context,
                        containers,
                        secret,
                        parentDeath,
                        guard,
                        logLimit(),
                        feed,
                        input,
                        mailbox,
                        out,
                        notices));
        log = new AgentLog(logDir, node.host(), notices);
        socket.start(new SocketEvents());
        staging.begin(node.host());
        containers.begin(socket.folder(), System.getenv(), options.agent(), notices);
        out.send(ControlResponse.newBuilder()
                .setJobOpened(JobOpened.newBuilder()
                        .setHost(node.host())
                        .setAddress(localAddress.orElse(node.address()))
                        .setMasterPort(masterPort == null ? 0 : masterPort.port())
                        .setCores(node.cores())
                        .addAllGpus(node.gpus())
                        .setWorkers(options.workers()))
                .build());
        gpus = new GpuMonitor(node.gpus(), node.host(), out, notices);
        gpus.start();
    }

    private static Guard startGuard(ControlSocket socket, String runId) throws IOException {
        try {
            return Guard.start(socket.folder(), SegmentNames.ofRun(runId));
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private MasterPort reservePort(ControlSocket socket, Guard guard) throws IOException {
        try {
            return MasterPort.reserve(request.getMasterPort());
        } catch (IOException e) {
            socket.close();
            guard.close();
            throw e;
        }
    }

    String runId() {
        return request.getRunId();
    }

    /** The most that each stream of a worker keeps on disk. */
    private Optional<LogLimit> logLimit() {
        return request.getLogFiles() == 0
                ? Optional.empty()
                : Optional.of(new LogLimit(request.getLogFileBytes(), request.getLogFiles()));
    }

    /** The folder of all log files of the job on this node. */
    Path logFolder() {
        return Path.of(request.getLogDir());
    }

    boolean isClaimedBy(ByteString secret) {
        return MessageDigest.isEqual(request.getJobSecret().toByteArray(), secret.toByteArray());
    }

    ConsoleFeed feed() {
        return feed;
    }

    WorkerInput input() {
        return input;
    }

    FileStaging staging() {
        return staging;
    }

    void handle(ControlRequest message) {
        if (message.hasPing()) {
            launcher.messageReceived();
            out.send(ControlResponse.newBuilder()
                    .setPong(Pong.newBuilder()
                            .setSentNanos(message.getPing().getSentNanos())
                            .setAgentNanos(System.nanoTime()))
                    .build());
            return;
        }
        mailbox.post(() -> dispatch(message));
    }

    /**
     * Kills the workers, waits for their end in the background, releases all resources, then ends the control stream.
     */
    void end() {
        mailbox.post(this::beginEnd);
    }

    /** Waits until all resources are released, a few seconds at most. */
    void awaitEnd() {
        try {
            ended.get(END_SECONDS + 1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("job " + request.getRunId() + " did not end in time", e);
        }
    }

    private void dispatch(ControlRequest message) {
        switch (message.getMessageCase()) {
            case LAUNCH -> whenPlaced(message.getLaunch());
            case OPEN_JOB, PING, MESSAGE_NOT_SET ->
                throw Status.INVALID_ARGUMENT
                        .withDescription("a control stream carries one job; got a second " + message.getMessageCase())
                        .asRuntimeException();
            case NODE_RELEASED -> released(message.getNodeReleased().getWhy());
            case PEER_TABLE,
                    WORKER_FRAME,
                    RANKS_LEFT,
                    SIGNAL_WORKERS,
                    STOP_WORKERS,
                    CHECKPOINT_NOW,
                    ABORT_ROUND,
                    LOCATE,
                    REGROUP -> {
                if (held != null) {
                    holdBack(held, message);
                } else if (round != null) {
                    round.handle(message);
                }
                if (message.hasAbortRound() && log != null) {
                    AbortRound abort = message.getAbortRound();
                    log.write("round " + abort.getRound() + " is aborted: " + abort.getCause());
                }
            }
        }
    }

    private void released(String why) {
        if (log != null) {
            log.write("the launcher has released this node: " + why);
        }
        options.listener().released(why);
        beginEnd();
    }

    /** Starts a round once its files are on this node. */
    private void whenPlaced(LaunchRound launch) {
        if (held != null) {
            throw Status.FAILED_PRECONDITION
                    .withDescription("round " + launch.getRound() + " may not start: one before it waits for its files")
                    .asRuntimeException();
        }
        CompletableFuture<StagedFiles> ready = staging.placed().thenCombine(containers.started(), (files, _) -> files);
        if (ready.isDone() && !ready.isCompletedExceptionally()) {
            launch(ready.join().on(launch));
            return;
        }
        PendingLaunch waiting = new PendingLaunch(launch, out);
        held = waiting;
        var _ = ready.whenComplete((placed, problem) -> mailbox.post(() -> {
            if (held != waiting) {
                return; // stopped meanwhile
            }
            held = null;
            if (problem == null) {
                launch(placed.on(launch));
                waiting.kept().forEach(this::dispatch);
            } else {
                Throwable cause = causeOf(problem);
                waiting.end(
                        String.valueOf(cause.getMessage()),
                        cause instanceof ContainerException container ? container.exitCode() : NOT_FOUND,
                        false);
            }
        }));
    }

    /** The cause, without the CompletionException of a dependent future. */
    private static Throwable causeOf(Throwable problem) {
        return problem instanceof CompletionException && problem.getCause() != null ? problem.getCause() : problem;
    }

    private void holdBack(PendingLaunch waiting, ControlRequest message) {
        if (message.hasStopWorkers()) {
            held = null;
            waiting.end("stopped before its files were on this node", NOT_FOUND, true);
        } else {
            waiting.keep(message);
        }
    }

    private void launch(LaunchRound launch) {
        if (ending || resources == null) {
            return;
        }
        if (round != null && !round.isOver()) {
            throw Status.FAILED_PRECONDITION
                    .withDescription("round " + launch.getRound() + " may not start: " + round.describeLiving())
                    .asRuntimeException();
        }
        NodeRound before = round;
        round = new NodeRound(launch, resources.roundContext());
        round.startAfter(before);
    }

    /** The launcher does not read; the call has failed with this reason. */
    private void overflown(String why) {
        options.listener().failed(why);
        end();
    }

    private void launcherSilent() {
        throw Status.DEADLINE_EXCEEDED
                .withDescription("no message of the launcher has arrived for 60 s")
                .asRuntimeException();
    }

    private void fail(Throwable cause) {
        Status status = Status.fromThrowable(cause);
        Status reported = status.getCode() == Status.Code.UNKNOWN
                ? Status.INTERNAL.withDescription("the agent failed: " + cause).withCause(cause)
                : status;
        options.listener().failed(String.valueOf(reported.getDescription()));
        out.fail(reported.asRuntimeException());
        beginEnd();
    }

    private void beginEnd() {
        if (ending) {
            return;
        }
        ending = true;
        if (round == null) {
            finish();
            return;
        }
        var _ = mailbox.postIn(TimeUnit.SECONDS.toMillis(END_SECONDS), this::finish);
        round.killAll();
        round.whenReaped(this::finish);
    }

    private void finish() {
        mailbox.close();
        boolean _ = Thread.interrupted(); // close() has interrupted this thread, and the following calls may block
        staging.close();
        if (gpus != null) {
            gpus.close();
        }
        containers.close();
        feed.close();
        input.close();
        if (round != null) {
            round.closeConnections();
            if (resources != null && !round.isReaped()) {
                resources.guard().killOnClose();
            }
        }
        try {
            if (resources != null) {
                resources.close();
            }
        } catch (IOException e) {
            notices.accept("the agent's socket folder could not be removed: " + e.getMessage());
        }
        onEnd.accept(this);
        out.complete();
        ended.complete(null);
        options.listener().ended();
    }

    /** Passes events of the workers' connections to the job's thread. */
    private final class SocketEvents implements WorkerConnection.Events {
        @Override
        public void received(WorkerConnection connection, Frame.FromWorker frame) {
            mailbox.post(() -> {
                if (round == null) {
                    refuse(connection, "no workers are running on this agent");
                } else {
                    round.received(connection, frame);
                }
            });
        }

        @Override
        public void ended(WorkerConnection connection, String problem) {
            mailbox.post(() -> {
                if (round != null) {
                    round.ended(connection, problem);
                }
            });
        }

        @Override
        public void acceptFailed(String problem) {
            notices.accept("workers cannot connect to their agent at the moment; the agent tries again: " + problem);
        }
    }

    static void refuse(WorkerConnection connection, String reason) {
        connection.send(new Frame.Refused(reason));
        connection.close();
    }
}
