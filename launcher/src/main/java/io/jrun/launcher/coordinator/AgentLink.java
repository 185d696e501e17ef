package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.ToAgent;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator's line to one node's agent: the control stream, and the log stream with its credit. Messages from the agent
 * go into the coordinator's mailbox. Everything but the callbacks is confined to the coordinator's thread.
 */
final class AgentLink {
    /** How much output may be under way to the console: enough to keep a terminal busy, little enough to stay current. */
    private static final int WINDOW_BYTES = 1 << 18;

    private final AgentGrpc.AgentStub stub;
    private final int nodeRank;
    private final Consumer<Mail> mailbox;
    private final StreamObserver<ToAgent> control;
    private @Nullable LogReader logs;
    private boolean closed;

    private AgentLink(int nodeRank, Channel channel, Consumer<Mail> mailbox) {
        this.nodeRank = nodeRank;
        this.mailbox = mailbox;
        this.stub = AgentGrpc.newStub(channel);
        this.control = stub.control(new ControlReader());
    }

    /** Opens the control stream of the agent behind {@code channel}. */
    static AgentLink open(int nodeRank, Channel channel, Consumer<Mail> mailbox) {
        return new AgentLink(nodeRank, channel, mailbox);
    }

    /** Sends a control message; without effect once the stream has ended. */
    void send(ToAgent message) {
        if (closed) {
            return;
        }
        try {
            control.onNext(message);
        } catch (IllegalStateException e) {
            closed = true; // the agent has ended the stream, and the mailbox says so
        }
    }

    /** Starts reading the workers' output. */
    void readLogs(String runId, Consumer<LogChunk> reader) {
        LogReader opened = new LogReader(reader);
        logs = opened;
        StreamObserver<LogCredit> credits = stub.logs(opened);
        opened.start(credits, runId);
    }

    /** Ends both streams; the agent kills what still runs. */
    void close() {
        if (logs != null) {
            logs.close();
        }
        if (!closed) {
            closed = true;
            try {
                control.onCompleted();
            } catch (IllegalStateException e) {
                // the agent was first
            }
        }
    }

    /** Why a stream has ended, in the words of whoever ended it. */
    static String reason(Throwable error) {
        Status status = Status.fromThrowable(error);
        String description = status.getDescription() == null ? status.getCode().toString() : status.getDescription();
        Throwable cause = status.getCause(); // of an unreachable agent: which address, and why
        return cause == null || cause.getMessage() == null ? description : description + ": " + cause.getMessage();
    }

    private final class ControlReader implements StreamObserver<FromAgent> {
        @Override
        public void onNext(FromAgent message) {
            mailbox.accept(new Mail.FromNode(nodeRank, message));
        }

        @Override
        public void onError(Throwable error) {
            mailbox.accept(new Mail.NodeBroken(nodeRank, reason(error)));
        }

        @Override
        public void onCompleted() {
            mailbox.accept(new Mail.NodeBroken(nodeRank, "the agent ended the job's control stream"));
        }
    }

    /** Gives back as credit what it has shown. */
    private static final class LogReader implements StreamObserver<LogChunk> {
        private final Consumer<LogChunk> reader;
        private @Nullable StreamObserver<LogCredit> credits;

        LogReader(Consumer<LogChunk> reader) {
            this.reader = reader;
        }

        synchronized void start(StreamObserver<LogCredit> opened, String runId) {
            credits = opened;
            opened.onNext(LogCredit.newBuilder()
                    .setRunId(runId)
                    .setBytes(WINDOW_BYTES)
                    .build());
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
        }

        @Override
        public void onCompleted() {
            stop();
        }

        private synchronized void stop() {
            credits = null;
        }
    }
}
