package io.jrun.agent.job;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * One response stream: puts its senders in order and drops what comes after the stream's end. Whoever finds nobody sending
 * sends for all, and no lock is held meanwhile: with the in-process transport the receiver's code runs on this thread, and
 * may itself be waiting for, or calling into, another stream of this agent. Never waits.
 */
final class Outbox<M> {
    private final ServerCallStreamObserver<M> stream;
    private final Deque<Runnable> queue = new ArrayDeque<>();
    private boolean sending;
    private boolean ended;

    Outbox(ServerCallStreamObserver<M> stream) {
        this.stream = stream;
    }

    void send(M message) {
        put(() -> stream.onNext(message), false);
    }

    void complete() {
        put(stream::onCompleted, true);
    }

    void fail(Throwable cause) {
        put(() -> stream.onError(cause), true);
    }

    private void put(Runnable call, boolean last) {
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = last;
            queue.add(call);
            if (sending) {
                return;
            }
            sending = true;
        }
        sendAll();
    }

    private void sendAll() {
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

    private synchronized @Nullable Runnable next() {
        Runnable call = queue.poll();
        sending = call != null;
        return call;
    }

    /** The receiver threw: the exception is the caller's, what is queued goes with the next message. */
    private synchronized void giveUpSending() {
        sending = false;
    }
}
