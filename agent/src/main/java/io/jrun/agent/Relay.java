package io.jrun.agent;

import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Passes a stream's messages on to another stream, in order; what comes before the other is known waits for it. Drops what
 * comes after the end. Thread-safe; waits for nothing, as streams of gRPC do not.
 */
public final class Relay<M> implements StreamObserver<M> {
    private final Deque<Consumer<StreamObserver<M>>> waiting = new ArrayDeque<>();
    private @Nullable StreamObserver<M> target;
    private boolean ended;

    /** From now on, and with all that waits, messages go to {@code next}. To be called once. */
    public synchronized void to(StreamObserver<M> next) {
        target = next;
        waiting.forEach(call -> call.accept(next));
        waiting.clear();
    }

    @Override
    public void onNext(M message) {
        pass(stream -> stream.onNext(message), false);
    }

    @Override
    public void onError(Throwable cause) {
        pass(stream -> stream.onError(cause), true);
    }

    @Override
    public void onCompleted() {
        pass(StreamObserver::onCompleted, true);
    }

    private synchronized void pass(Consumer<StreamObserver<M>> call, boolean last) {
        if (ended) {
            return;
        }
        ended = last;
        StreamObserver<M> next = target;
        if (next == null) {
            waiting.add(call);
            return;
        }
        try {
            call.accept(next);
        } catch (IllegalStateException e) {
            ended = true; // the other stream has ended by itself, and says so where it is read
        }
    }
}
