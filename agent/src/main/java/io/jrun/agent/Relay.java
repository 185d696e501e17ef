package io.jrun.agent;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.grpc.stub.CallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Passes a stream's messages on to another stream, in order; what comes before the other is known waits for it. Drops what
 * comes after the end. Whoever finds nobody passing on does so for all, and no lock is held meanwhile, since the other stream
 * may call back. Thread-safe; waits for nothing, as streams of gRPC do not.
 */
public final class Relay<M extends MessageLite> implements StreamObserver<M> {
    /** As much as the largest message. */
    static final long MOST_BYTES = 64 << 20;

    private final Deque<Consumer<StreamObserver<M>>> waiting = new ArrayDeque<>();
    private final long mostBytes;
    private long bytesBeforeTarget;
    private @Nullable StreamObserver<M> target;
    private boolean passing;
    private boolean ended;

    /** A relay that does not know the other stream yet. */
    public Relay() {
        this(MOST_BYTES);
    }

    /** @param mostBytes that may wait until the other stream is known; more end it with an error */
    Relay(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** From now on, and with all that waits, messages go to {@code next}. To be called once. */
    public void to(StreamObserver<M> next) {
        synchronized (this) {
            target = next;
        }
        passAll(next);
    }

    @Override
    public void onNext(M message) {
        int bytes = message.getSerializedSize();
        pass(stream -> stream.onNext(message), false, bytes);
    }

    @Override
    public void onError(Throwable cause) {
        pass(stream -> stream.onError(cause), true, 0);
    }

    @Override
    public void onCompleted() {
        pass(StreamObserver::onCompleted, true, 0);
    }

    private void pass(Consumer<StreamObserver<M>> call, boolean last, int bytes) {
        StreamObserver<M> next;
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = last;
            waiting.add(call);
            next = target;
            if (next == null) {
                bytesBeforeTarget += bytes;
                if (bytesBeforeTarget > mostBytes) {
                    overflow();
                }
                return;
            }
        }
        passAll(next);
    }

    private synchronized void overflow() {
        Status status = Status.RESOURCE_EXHAUSTED.withDescription(bytesBeforeTarget
                + " bytes of messages wait for a stream that does not open; at most " + mostBytes + " may");
        waiting.clear();
        waiting.add(stream -> stream.onError(status.asRuntimeException()));
        ended = true;
    }

    private void passAll(StreamObserver<M> next) {
        synchronized (this) {
            if (passing) {
                return;
            }
            passing = true;
        }
        boolean done = false;
        try {
            for (Consumer<StreamObserver<M>> call = next(); call != null; call = next()) {
                call.accept(next);
            }
            done = true;
        } catch (IllegalStateException e) {
            if (!(next instanceof CallStreamObserver)) {
                throw e; // a fault of ours
            }
            // gRPC's word for a call that has ended by itself, which says so where it is read
        } finally {
            if (!done) {
                giveUp();
            }
        }
    }

    private synchronized @Nullable Consumer<StreamObserver<M>> next() {
        Consumer<StreamObserver<M>> call = waiting.poll();
        passing = call != null;
        return call;
    }

    private synchronized void giveUp() {
        passing = false;
        ended = true;
        waiting.clear();
    }
}
