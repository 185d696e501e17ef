package io.jrun.agent.job;

import io.grpc.stub.ServerCallStreamObserver;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.Notice;

/** The way to the coordinator; serialises senders and drops what comes after the stream's end. Never waits. */
final class Outbox {
    private final ServerCallStreamObserver<FromAgent> stream;
    private boolean ended;

    Outbox(ServerCallStreamObserver<FromAgent> stream) {
        this.stream = stream;
    }

    synchronized void send(FromAgent message) {
        if (!ended && !stream.isCancelled()) {
            stream.onNext(message);
        }
    }

    void notice(String text) {
        send(FromAgent.newBuilder().setNotice(Notice.newBuilder().setText(text)).build());
    }

    synchronized void complete() {
        if (!ended && !stream.isCancelled()) {
            stream.onCompleted();
        }
        ended = true;
    }

    synchronized void fail(Throwable cause) {
        if (!ended && !stream.isCancelled()) {
            stream.onError(cause);
        }
        ended = true;
    }
}
