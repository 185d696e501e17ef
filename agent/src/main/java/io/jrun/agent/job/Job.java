package io.jrun.agent.job;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.jrun.agent.control.ControlSocket;
import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.files.FileStaging;
import io.jrun.agent.files.StagedFiles;
import io.jrun.agent.guard.Guard;
import io.jrun.agent.log.AgentLog;
import io.jrun.agent.log.ConsoleFeed;
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
 * One job on this node, from OpenJob to the end of the control stream. Everything that happens (messages, frames,
 * exits, timers) runs on the job's single thread; the methods may be called from any thread and do not wait, unless
 * they say so.
 */
final class Job {
    /**
     * SIGKILL is delivered at once, except to a process in an uninterruptible wait: nobody waits for that one for ever.
     */
    private static final long END_SECONDS = 10;

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
    private final JobContainers containers;

    private @Nullable Resources resources;
    private @Nullable PendingLaunch held;
    private @Nullable NodeRound round;
    private @Nullable AgentLog log;
    private boolean ending;

    /** What a job holds of the machine. */
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
     * Takes what the job needs and answers JobOpened. Takes a few milliseconds, or longer where GPUs must be listed.
     */
    void open() throws IOException {
        ParentDeath parentDeath = ParentDeath.find(System.getenv());
        NodeResources node = NodeProbe.probeHere();
        Path logDir = Path.of(request.getLogDir()); // Before anything is taken that would have to be given back.
        ControlSocket socket = ControlSocket.bind();
        Guard guard = startGuard(socket, request.getRunId());
        MasterPort masterPort = request.getReserveMasterPort() ? reservePort(socket, guard) : null;
        LaunchContext context =
                new LaunchContext(node, options.agent(), request.getRunId(), logDir, socket.path(), System.getenv());
        Bytes secret = Bytes.of(request.getJobSecret().toByteArray());
        resources = new Resources(
                socket,
                guard,
                masterPort,
                new NodeRound.RoundContext(
                        context, containers, secret, parentDeath, guard, feed, mailbox, out, notices));
        log = new AgentLog(logDir, node.host(), notices);
        socket.start(new SocketEvents());
        staging.begin(node.host());
        containers.begin(socket.folder(), System.getenv());
        out.send(ControlResponse.newBuilder()
                .setJobOpened(JobOpened.newBuilder()
                        .setHost(node.host())
                        .setAddress(localAddress.orElse(node.address()))
                        .setMasterPort(masterPort == null ? 0 : masterPort.port())
                        .setCores(node.cores())
                        .addAllGpus(node.gpus())
                        .setWorkers(options.workers()))
                .build());
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

    boolean isClaimedBy(ByteString secret) {
        return MessageDigest.isEqual(request.getJobSecret().toByteArray(), secret.toByteArray());
    }

    ConsoleFeed feed() {
        return feed;
    }

    FileStaging staging() {
        return staging;
    }

    void handle(ControlRequest message) {
        if (message.hasPing()) {
            launcher.messageReceived();
            out.send(ControlResponse.newBuilder()
                    .setPong(Pong.getDefaultInstance())
                    .build());
            return;
        }
        mailbox.post(() -> dispatch(message));
    }

    /** Kills what runs, waits for it in the background, gives everything back, then ends the control stream. */
    void end() {
        mailbox.post(this::beginEnd);
    }

    /** Waits until everything is given back, at most a few seconds. */
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
                waiting.end(reasonOf(problem), false);
            }
        }));
    }

    /** Without the wrapping of a future that hangs on another one. */
    private static String reasonOf(Throwable problem) {
        Throwable cause =
                problem instanceof CompletionException && problem.getCause() != null ? problem.getCause() : problem;
        return String.valueOf(cause.getMessage());
    }

    private void holdBack(PendingLaunch waiting, ControlRequest message) {
        if (message.hasStopWorkers()) {
            held = null;
            waiting.end("stopped before its files had come", true);
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
                .withDescription("the launcher has not been heard for 60 s")
                .asRuntimeException();
    }

    private void fail(Throwable cause) {
        Status status = Status.fromThrowable(cause);
        Status told = status.getCode() == Status.Code.UNKNOWN
                ? Status.INTERNAL.withDescription("the agent failed: " + cause).withCause(cause)
                : status;
        options.listener().failed(String.valueOf(told.getDescription()));
        out.fail(told.asRuntimeException());
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
        boolean _ = Thread.interrupted(); // by that, on the mailbox's own thread; what follows may wait
        staging.close();
        containers.close();
        feed.close();
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

    /** Carries what happens on workers' connections to the job's thread. */
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
            notices.accept("workers cannot reach their agent at the moment, which tries on: " + problem);
        }
    }

    static void refuse(WorkerConnection connection, String reason) {
        connection.send(new Frame.Refused(reason));
        connection.close();
    }
}
