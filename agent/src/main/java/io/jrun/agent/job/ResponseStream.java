package io.jrun.agent.job;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * One response stream: puts its senders in order, keeps what the stream does not take yet, and drops what comes after the
 * stream's end. Whoever finds nobody sending sends for all, and no lock is held meanwhile: with the in-process transport the
 * receiver's code runs on this thread, and may itself be waiting for, or calling into, another stream of this agent. Never
 * waits. Must be made while the call begins, since the stream takes its handlers only then.
 */
final class ResponseStream<M extends MessageLite> {
    /** As much as the largest message: a launcher that stands still for a minute leaves less. */
    static final long MOST_BYTES = 64 << 20;

    private final ServerCallStreamObserver<M> stream;
    private final String node;
    private final long mostBytes;
    private final Deque<M> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private @Nullable Runnable end;
    private Runnable onOverflow = () -> {};
    private boolean sending;
    private boolean ended;

    /** @param node how errors name this node */
    ResponseStream(ServerCallStreamObserver<M> stream, String node, long mostBytes) {
        this.stream = stream;
        this.node = node;
        this.mostBytes = mostBytes;
        stream.setOnReadyHandler(this::sendAll);
    }

    /** Runs {@code action} when more waits than may: the stream has failed with a sentence about it. */
    synchronized void onOverflow(Runnable action) {
        onOverflow = action;
    }

    void send(M message) {
        Runnable overflow = put(message);
        sendAll();
        if (overflow != null) {
            overflow.run();
        }
    }

    /** Null if there is room. */
    private synchronized @Nullable Runnable put(M message) {
        if (ended) {
            return null;
        }
        waiting.add(message);
        waitingBytes += message.getSerializedSize();
        if (waitingBytes <= mostBytes) {
            return null;
        }
        Status status = Status.RESOURCE_EXHAUSTED.withDescription(waitingBytes + " bytes of messages of " + node
                + " wait for the launcher, which may leave at most " + mostBytes
                + " unread. Is the launcher stopped, its"
                + " host overloaded, or the network to it?");
        waiting.clear();
        ended = true;
        end = () -> stream.onError(status.asRuntimeException());
        return onOverflow;
    }

    void complete() {
        finish(stream::onCompleted);
    }

    void fail(Throwable cause) {
        finish(() -> stream.onError(cause));
    }

    /** What waits is sent ahead of the end, at the pace of the network library. */
    private void finish(Runnable last) {
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = true;
            end = last;
        }
        sendAll();
    }

    private void sendAll() {
        synchronized (this) {
            if (sending) {
                return;
            }
            sending = true;
        }
        boolean done = false;
        try {
            for (Runnable call = next(); call != null; call = next()) {
                if (!stream.isCancelled()) {
                    call.run();
                }
            }
            done = true;
        } finally {
            if (!done) {
                giveUpSending();
            }
        }
    }

    /** The next call, null if there is none or the stream takes none now. It tells when it does again. */
    private synchronized @Nullable Runnable next() {
        Runnable call = null;
        if (!waiting.isEmpty() && (ended || stream.isReady() || stream.isCancelled())) {
            M message = waiting.remove();
            waitingBytes -= message.getSerializedSize();
            call = () -> stream.onNext(message);
        } else if (waiting.isEmpty() && end != null) {
            call = end;
            end = null;
        }
        sending = call != null;
        return call;
    }

    /** The receiver threw: the exception is the caller's, what is queued goes with the next message. */
    private synchronized void giveUpSending() {
        sending = false;
    }
}
