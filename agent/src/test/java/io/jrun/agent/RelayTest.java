package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.Notice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RelayTest {
    /** Takes down what comes; may be told to do something first. */
    private static class Target implements StreamObserver<Notice> {
        final List<String> texts = new ArrayList<>();
        Status end = Status.UNKNOWN;

        @Override
        public void onNext(Notice message) {
            texts.add(message.getText());
        }

        @Override
        public void onError(Throwable cause) {
            end = Status.fromThrowable(cause);
        }

        @Override
        public void onCompleted() {
            end = Status.OK;
        }
    }

    private static Notice notice(String text) {
        return Notice.newBuilder().setText(text).build();
    }

    @Test
    void whatComesBeforeTheOtherStreamIsKnownWaits() {
        Relay<Notice> relay = new Relay<>();
        Target target = new Target();
        relay.onNext(notice("a"));
        relay.to(target);
        relay.onNext(notice("b"));
        relay.onCompleted();
        relay.onNext(notice("late"));
        assertThat(target.texts).containsExactly("a", "b");
        assertThat(target.end.isOk()).isTrue();
    }

    /** gRPC's in-process transport runs the receiver's code, which may wait for a thread that sends on the same relay. */
    @Test
    void receiverMayWaitForAnotherSender() {
        Relay<Notice> relay = new Relay<>();
        Target target = new Target() {
            @Override
            public void onNext(Notice message) {
                if (texts.isEmpty()) {
                    CompletableFuture.runAsync(() -> relay.onNext(notice("b")))
                            .orTimeout(10, TimeUnit.SECONDS)
                            .join();
                }
                super.onNext(message);
            }
        };
        relay.to(target);
        relay.onNext(notice("a"));
        assertThat(target.texts).containsExactly("a", "b");
    }

    @Test
    void faultOfAReceiverIsNotTakenForItsEnd() {
        Relay<Notice> relay = new Relay<>();
        relay.to(new Target() {
            @Override
            public void onNext(Notice message) {
                throw new IllegalStateException("a fault");
            }
        });
        assertThatThrownBy(() -> relay.onNext(notice("a"))).hasMessage("a fault");
    }

    @Test
    void tooMuchForAStreamThatDoesNotOpenIsAnError() {
        Relay<Notice> relay = new Relay<>(1000);
        Target target = new Target();
        for (int i = 0; i < 20; i++) {
            relay.onNext(notice("x".repeat(98))); // 100 bytes
        }
        relay.to(target);
        assertThat(target.texts).isEmpty();
        assertThat(target.end.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(target.end.getDescription()).contains("1100 bytes", "at most 1000");
    }
}
