package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.ErrorCauses;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.InputCredit;
import io.jrun.agent.proto.InputPiece;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.Pong;
import io.jrun.agent.proto.TimelinePiece;
import io.jrun.agent.proto.TimelineRequest;
import io.jrun.agent.tls.UnknownPeerException;
import io.jrun.launcher.files.FileServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator's calls to one node's agent: the control call, and the log call with its credit. Messages from the
 * agent go into the coordinator's mailbox. Messages to an agent that has not connected yet are queued. All methods
 * except {@link #beat} and the callbacks are confined to the coordinator's thread.
 */
final class AgentConnection {
    /** Limit of the output on its way to the console, in bytes: enough for a busy terminal, and little delay. */
    private static final int WINDOW_BYTES = 1 << 18;

    /**
     * Limit of the messages for an agent that does not read, in bytes: one message of the largest size that agents
     * accept. The heartbeats end the connection to a stopped agent after 8 s, usually before this limit is reached.
     */
    private static final int MAX_UNSENT_BYTES = 64 << 20;

    /** The longest time for timelines: the end of the job waits for them. 256 rings have 64 MiB at most on their way. */
    static final int TIMELINE_SECONDS = 10;

    /** gRPC's description of each connection error; the cause has the details. */
    private static final String ANY_IO_PROBLEM = "io exception";

    private final int id;
    private final AgentRoute route;
    private final Mailbox mailbox;
    private final List<ControlRequest> beforeAgent = new ArrayList<>();
    private AgentGrpc.@Nullable AgentStub stub;
    private @Nullable ClientCallStreamObserver<ControlRequest> control;
    private final AtomicInteger missed = new AtomicInteger();
    private final AtomicBoolean broken = new AtomicBoolean();
    private volatile boolean hasReceived;
    private volatile boolean held;
    private final ClockEstimate clock = new ClockEstimate();
    private @Nullable LogReceiver logs;
    private long unsent;
    private boolean closed;

    private AgentConnection(int id, AgentRoute route, Mailbox mailbox) {
        this.id = id;
        this.route = route;
        this.mailbox = mailbox;
    }

    /** Opens the control call as soon as the agent has connected. */
    static AgentConnection open(int id, AgentRoute route, Mailbox mailbox) {
        AgentConnection connection = new AgentConnection(id, route, mailbox);
        var _ = route.connect().whenComplete(connection::connected);
        return connection;
    }

    private void connected(@Nullable Channel channel, @Nullable Throwable problem) {
        if (channel != null) {
            begin(channel);
        } else {
            Status status = Status.fromThrowable(Objects.requireNonNull(problem));
            broken(reason(status), isRefusal(status));
        }
    }

    private synchronized void begin(Channel channel) {
        if (closed) {
            return;
        }
        AgentGrpc.AgentStub opened = AgentGrpc.newStub(channel);
        ClientCallStreamObserver<ControlRequest> call =
                (ClientCallStreamObserver<ControlRequest>) opened.control(new ControlReader());
        stub = opened;
        control = call;
        beforeAgent.forEach(call::onNext);
        beforeAgent.clear();
        unsent = 0;
    }

    /**
     * Sends a control message; without effect once the call has ended. Ends the call to an agent that does not read.
     */
    void send(ControlRequest message) {
        if (!isTaken(message)) {
            breakOff("the agent does not read its messages: more than " + (MAX_UNSENT_BYTES >> 20) + " MiB are unsent");
        }
    }

    /** Sends a message; returns false if more than {@link #MAX_UNSENT_BYTES} are unsent. */
    private synchronized boolean isTaken(ControlRequest message) {
        if (closed) {
            return true;
        }
        ClientCallStreamObserver<ControlRequest> call = control;
        if (call == null) {
            beforeAgent.add(message);
        } else {
            send(call, message);
        }
        unsent = call != null && call.isReady() ? 0 : unsent + message.getSerializedSize();
        return unsent <= MAX_UNSENT_BYTES;
    }

    private void send(ClientCallStreamObserver<ControlRequest> call, ControlRequest message) {
        try {
            call.onNext(message);
        } catch (IllegalStateException e) {
            closed = true; // the agent has ended the call; ControlReader puts the reason into the mailbox
        }
    }

    /** Whether the control call is open, as far as the launcher knows. */
    boolean isOpen() {
        return !broken.get();
    }

    /** Whether the agent's next messages wait for room in the mailbox. */
    boolean isHeld() {
        return held;
    }

    /** One period of {@link Heartbeats}. Returns false if the call has ended, or ends now for lack of answers. */
    boolean beat(int maxMissed) {
        if (broken.get()) {
            return false;
        }
        if (isHeld()) { // the answers may be among the waiting messages
            missed.set(0);
        }
        if (missed.getAndIncrement() < maxMissed) {
            send(AgentMessages.ping());
            return true;
        }
        breakOff("no answer to " + maxMissed
                + " heartbeats in a row; the host of the agent or the network is down, or the agent is stopped");
        return false;
    }

    /** Begins the measurement of the agent's clock. */
    void measureClock() {
        send(AgentMessages.ping());
    }

    private void measured(Pong pong) {
        clock.take(pong.getSentNanos(), pong.getAgentNanos(), System.nanoTime())
                .ifPresent(measurement -> mailbox.add(new CoordinatorMessage.ClockMeasured(id, measurement)));
        if (clock.isUrgent()) {
            send(AgentMessages.ping());
        }
    }

    /** Sends the reason and ends the control call; the agent then kills the workers of its node. */
    void breakOff(String why) {
        boolean isSent = isTaken(AgentMessages.released(why));
        end(why, isSent);
        broken(why, false);
        route.release();
    }

    /** A cancelled call may lose the messages before the cancellation. A call that is completed does not. */
    private synchronized void end(String why, boolean isSent) {
        if (!closed) {
            closed = true;
            beforeAgent.clear();
            if (control != null && isSent) {
                complete(control);
            } else if (control != null) {
                control.cancel(why, null);
            }
        }
    }

    private static void complete(ClientCallStreamObserver<ControlRequest> call) {
        try {
            call.onCompleted();
        } catch (IllegalStateException e) {
            // the agent has ended the call first
        }
    }

    /** Reports the first reason only. */
    private void broken(String why, boolean refused) {
        if (broken.compareAndSet(false, true)) {
            mailbox.add(new CoordinatorMessage.ControlCallEnded(id, why, refused));
        }
    }

    /** Starts reading the workers' output; {@code onEnd} runs after the last output. */
    void readLogs(JobClaim job, Consumer<LogChunk> reader, Runnable onEnd) {
        LogReceiver opened = new LogReceiver(reader, onEnd);
        logs = opened;
        StreamObserver<LogCredit> credits = opened().logs(opened);
        opened.start(credits, job);
    }

    private synchronized AgentGrpc.AgentStub opened() {
        return Objects.requireNonNull(stub, "the agent has not opened the job");
    }

    /** Sends the agent the files that the agent requests from {@code fileServer}. */
    void sendFiles(FileServer fileServer, JobClaim job) {
        FileServer.AgentTransfer transfer = fileServer.beginTransfer();
        StreamObserver<FileChunk> _ = opened().files(transfer);
        transfer.begin(job);
    }

    /** Requests timelines, which have {@link #TIMELINE_SECONDS} to arrive. */
    void readTimelines(JobClaim job, List<String> files, StreamObserver<TimelinePiece> receiver) {
        opened().withDeadlineAfter(TIMELINE_SECONDS, TimeUnit.SECONDS)
                .timelines(
                        TimelineRequest.newBuilder()
                                .setJob(job)
                                .addAllFiles(files)
                                .build(),
                        receiver);
    }

    /** Opens the call that carries the launcher's standard input. */
    StreamObserver<InputPiece> openInput(StreamObserver<InputCredit> credits) {
        return opened().input(credits);
    }

    /** Ends both calls; the agent then kills the workers of its node. */
    synchronized void close() {
        if (logs != null) {
            logs.close();
        }
        if (!closed) {
            closed = true;
            beforeAgent.clear();
            if (control != null) {
                complete(control);
            }
        }
    }

    /** The reason for the end of a call: the description of the status and its causes, without repetition. */
    private static String reason(Status status) {
        Optional<UnknownPeerException> stranger = ErrorCauses.find(status, UnknownPeerException.class);
        if (stranger.isPresent()) {
            return String.valueOf(stranger.get().getMessage());
        }
        List<String> parts = new ArrayList<>();
        String description = status.getDescription();
        if (description == null) {
            parts.add(status.getCode().toString());
        } else if (status.getCause() == null
                || !ErrorCauses.firstLine(description).equals(ANY_IO_PROBLEM)) {
            parts.add(ErrorCauses.firstLine(description));
        }
        for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
            String words = ErrorCauses.words(cause);
            if (parts.stream().noneMatch(part -> part.contains(words))) {
                parts.add(words);
            }
        }
        return String.join(": ", parts);
    }

    /** Whether the agent refused the job, or the peer is not an agent of this launcher. */
    private static boolean isRefusal(Status status) {
        return switch (status.getCode()) {
            case INVALID_ARGUMENT, FAILED_PRECONDITION, ALREADY_EXISTS, UNAUTHENTICATED -> true;
            default -> ErrorCauses.find(status, UnknownPeerException.class).isPresent();
        };
    }

    /** Requests one message at a time. An agent that sends more than the coordinator reads therefore waits. */
    private final class ControlReader implements ClientResponseObserver<ControlRequest, ControlResponse> {
        private @Nullable ClientCallStreamObserver<ControlRequest> stream;

        @Override
        public void beforeStart(ClientCallStreamObserver<ControlRequest> started) {
            stream = started;
            started.disableAutoRequestWithInitial(1);
        }

        @Override
        public void onNext(ControlResponse message) {
            missed.set(0);
            hasReceived = true;
            if (message.hasPong()) {
                measured(message.getPong());
                readOn();
            } else if (broken.get()) {
                readOn();
            } else {
                mailbox.add(
                        new CoordinatorMessage.AgentResponse(id, message),
                        message.getSerializedSize(),
                        () -> held = true,
                        this::readOn);
            }
        }

        private void readOn() {
            held = false;
            Objects.requireNonNull(stream).request(1);
        }

        @Override
        public void onError(Throwable error) {
            Status status = Status.fromThrowable(error);
            if (!route.isOpenedByAgent() && !hasReceived && !broken.get() && ErrorCauses.isDropped(status)) {
                mailbox.add(new CoordinatorMessage.ConnectionDropped(id, reason(status)));
                return;
            }
            boolean isLost = route.isOpenedByAgent() && status.getCode() == Status.Code.UNAVAILABLE;
            broken(isLost ? "its connection was lost" : reason(status), isRefusal(status));
        }

        @Override
        public void onCompleted() {
            broken("the agent ended the job's control stream", false);
        }
    }

    /** Grants the bytes that the console has printed as new credit. */
    private static final class LogReceiver implements StreamObserver<LogChunk> {
        private final Consumer<LogChunk> reader;
        private final Runnable onEnd;
        private @Nullable StreamObserver<LogCredit> credits;

        LogReceiver(Consumer<LogChunk> reader, Runnable onEnd) {
            this.reader = reader;
            this.onEnd = onEnd;
        }

        synchronized void start(StreamObserver<LogCredit> opened, JobClaim job) {
            credits = opened;
            opened.onNext(
                    LogCredit.newBuilder().setJob(job).setBytes(WINDOW_BYTES).build());
        }

        @Override
        public void onNext(LogChunk chunk) {
            reader.accept(chunk);
            grant(chunk.getData().size());
        }

        private synchronized void grant(int bytes) {
            if (credits != null && bytes > 0) {
                credits.onNext(LogCredit.newBuilder().setBytes(bytes).build());
            }
        }

        synchronized void close() {
            if (credits != null) {
                credits.onCompleted();
                credits = null;
            }
        }

        @Override
        public void onError(Throwable error) {
            stop();
            onEnd.run();
        }

        @Override
        public void onCompleted() {
            stop();
            onEnd.run();
        }

        private synchronized void stop() {
            credits = null;
        }
    }
}
