package io.jrun.agent.job;

import io.grpc.stub.ServerCallStreamObserver;

/** One response stream: serialises its senders and drops what comes after the stream's end. Never waits. */
final class Outbox<M> {
    private final ServerCallStreamObserver<M> stream;
    private boolean ended;

    Outbox(ServerCallStreamObserver<M> stream) {
        this.stream = stream;
    }

    synchronized void send(M message) {
        if (isOpen()) {
            stream.onNext(message);
        }
    }

    synchronized void complete() {
        if (isOpen()) {
            stream.onCompleted();
        }
        ended = true;
    }

    synchronized void fail(Throwable cause) {
        if (isOpen()) {
            stream.onError(cause);
        }
        ended = true;
    }

    private boolean isOpen() {
        return !ended && !stream.isCancelled();
    }
}
