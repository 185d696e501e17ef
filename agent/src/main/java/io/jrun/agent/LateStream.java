package io.jrun.agent;

import com.google.protobuf.MessageLite;
import io.grpc.stub.StreamObserver;
import java.util.function.Supplier;

/**
 * What the launcher sends on one of its streams, on its way to the agent's, which is opened with the first message: before that
 * there is no job. Called by one thread at a time.
 */
final class LateStream<M extends MessageLite> implements StreamObserver<M> {
    private final Supplier<StreamObserver<M>> agent;
    private final Relay<M> messages = new Relay<>();
    private boolean opened;

    /** @param agent opens the agent's stream */
    LateStream(Supplier<StreamObserver<M>> agent) {
        this.agent = agent;
    }

    @Override
    public void onNext(M message) {
        if (!opened) {
            opened = true;
            messages.to(agent.get());
        }
        messages.onNext(message);
    }

    @Override
    public void onError(Throwable lost) {
        messages.onCompleted();
    }

    @Override
    public void onCompleted() {
        messages.onCompleted();
    }
}
