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
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.tls.UnknownPeerException;
import io.jrun.launcher.files.FileServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator's calls to one node's agent: the control call, and the log call with its credit. Messages from the agent
 * go into the coordinator's mailbox. Messages to an agent that is not there yet wait. Everything but {@link #beat} and the
 * callbacks is confined to the coordinator's thread.
 */
final class AgentConnection {
    /** How much output may be under way to the console: enough to keep a terminal busy, little enough to stay current. */
    private static final int WINDOW_BYTES = 1 << 18;

    /**
     * How much may wait for an agent that does not read: the largest message that agents take, once. An agent that stands still is
     * given up for its silence after 8 s, mostly before that.
     */
    private static final int MAX_UNSENT_BYTES = 64 << 20;

    /** gRPC's description of every problem of a connection; its cause says which. */
    private static final String ANY_IO_PROBLEM = "io exception";

    private final int id;
    private final AgentRoute route;
    private final Mailbox mailbox;
    private final List<ControlRequest> beforeAgent = new ArrayList<>();
    private AgentGrpc.@Nullable AgentStub stub;
    private @Nullable ClientCallStreamObserver<ControlRequest> control;
    private final AtomicInteger missed = new AtomicInteger();
    private final AtomicBoolean broken = new AtomicBoolean();
    private volatile boolean heard;
    private volatile boolean held;
    private @Nullable LogReceiver logs;
    private long unsent;
    private boolean closed;

    private AgentConnection(int id, AgentRoute route, Mailbox mailbox) {
        this.id = id;
        this.route = route;
        this.mailbox = mailbox;
    }

    /** Opens the control call as soon as the agent is there. */
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

    /** Sends a control message; without effect once the call has ended. An agent that does not read is given up. */
    void send(ControlRequest message) {
        if (!isTaken(message)) {
            breakOff("it does not read what it is sent: more than " + (MAX_UNSENT_BYTES >> 20) + " MiB wait for it");
        }
    }

    /** Sends a message; false if too much is unsent. */
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
            closed = true; // the agent has ended the call, and the mailbox says so
        }
    }

    /** Whether messages still reach the agent, as far as is known. */
    boolean isOpen() {
        return !broken.get();
    }

    /** Whether messages of the agent wait until this process has read others. */
    boolean isHeld() {
        return held;
    }

    /** One turn of {@link Heartbeats}: false if the agent is gone, or is given up now for its silence. */
    boolean beat(int maxMissed) {
        if (broken.get()) {
            return false;
        }
        if (isHeld()) { // its answers may be among what waits
            missed.set(0);
        }
        if (missed.getAndIncrement() < maxMissed) {
            send(AgentMessages.ping());
            return true;
        }
        breakOff("no answer to " + maxMissed
                + " heartbeats in a row; its host or the network to it is down, or the agent" + " stands still");
        return false;
    }

    /** Ends the control stream, and tells why; the agent kills what still runs. */
    void breakOff(String why) {
        boolean _ = isTaken(AgentMessages.givenUp(why));
        ClientCallStreamObserver<ControlRequest> call = end();
        broken(why, false);
        if (call != null) {
            call.cancel(why, null);
        }
        route.giveUp(why);
    }

    private synchronized @Nullable ClientCallStreamObserver<ControlRequest> end() {
        closed = true;
        beforeAgent.clear();
        return control;
    }

    /** The first reason is the one that counts. */
    private void broken(String why, boolean refused) {
        if (broken.compareAndSet(false, true)) {
            mailbox.add(new CoordinatorMessage.ControlCallEnded(id, why, refused));
        }
    }

    /** Starts reading the workers' output; {@code onEnd} runs when no more can come. */
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

    /** Ends both streams; the agent kills what still runs. */
    synchronized void close() {
        if (logs != null) {
            logs.close();
        }
        if (!closed) {
            closed = true;
            beforeAgent.clear();
            try {
                if (control != null) {
                    control.onCompleted();
                }
            } catch (IllegalStateException e) {
                // the agent was first
            }
        }
    }

    /** Why a stream has ended, in the words of whoever ended it, and what lies behind them. */
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

    /** Whether the agent itself ended the stream because of what it was asked for, or is none that would do it. */
    private static boolean isRefusal(Status status) {
        return switch (status.getCode()) {
            case INVALID_ARGUMENT, FAILED_PRECONDITION, ALREADY_EXISTS, UNAUTHENTICATED -> true;
            default -> ErrorCauses.find(status, UnknownPeerException.class).isPresent();
        };
    }

    /** Asks for one message at a time, so that an agent that sends more than the coordinator reads has to wait. */
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
            heard = true;
            if (message.hasPong() || broken.get()) {
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
            if (!route.isOpenedByAgent() && !heard && !broken.get() && ErrorCauses.isDropped(status)) {
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

    /** Gives back as credit what it has shown. */
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
