package io.jrun.agent.job;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one call to the launcher. It keeps the order of the senders, queues messages while the call is not
 * ready, and drops messages after the end. The queue has a limit in bytes: more messages fail the call.
 *
 * <p>A sender that finds no other sender active sends the messages of all. No lock is held meanwhile: with the
 * in-process transport the code of the receiver runs on this thread, and that code may wait for another call of this
 * agent. No method waits. Thread-safe; to be created while the call begins, because the call accepts handlers only
 * then.
 */
final class ResponseStream<M extends MessageLite> {
    /** As much as the largest message. A launcher that is stopped for a minute leaves less unread. */
    static final long MOST_BYTES = 64 << 20;

    private final ServerCallStreamObserver<M> stream;
    private final String node;
    private final long mostBytes;
    private final Deque<M> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private @Nullable Runnable end;
    private Consumer<String> onOverflow = _ -> {};
    private boolean sending;
    private boolean ended;

    /** @param node the name of this node in errors */
    ResponseStream(ServerCallStreamObserver<M> stream, String node, long mostBytes) {
        this.stream = stream;
        this.node = node;
        this.mostBytes = mostBytes;
        stream.setOnReadyHandler(this::sendAll);
    }

    /** Gives {@code action} the error with which the call fails when the queue exceeds its limit. */
    synchronized void onOverflow(Consumer<String> action) {
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
        String why = waitingBytes + " bytes of messages of " + node
                + " wait for the launcher, which may leave at most " + mostBytes
                + " unread. Is the launcher stopped, its host overloaded, or the network to it?";
        Consumer<String> overflow = onOverflow;
        waiting.clear();
        ended = true;
        end = () ->
                stream.onError(Status.RESOURCE_EXHAUSTED.withDescription(why).asRuntimeException());
        return () -> overflow.accept(why);
    }

    void complete() {
        finish(stream::onCompleted);
    }

    void fail(Throwable cause) {
        finish(() -> stream.onError(cause));
    }

    /** Queued messages leave before the end, at the pace of the network library. */
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

    /**
     * The next message or the end; null if there is none, or if the call is not ready. The call reports when it is
     * ready again.
     */
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

    /** The receiver has thrown an exception, which goes to the sender. Queued messages leave with the next message. */
    private synchronized void giveUpSending() {
        sending = false;
    }
}
