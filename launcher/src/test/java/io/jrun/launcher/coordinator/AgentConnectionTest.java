package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc.AgentImplBase;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.UserNotice;
import io.jrun.agent.proto.WorkerFrame;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The coordinator's line to an agent that sends more than is read, does not read, or breaks off. */
class AgentConnectionTest {
    private static final long TIMEOUT = TimeUnit.SECONDS.toNanos(30);
    private static final int MESSAGES = 5_000;
    private static final int MESSAGE_BYTES = 1_000;
    private static final int MAILBOX_BYTES = 50 * MESSAGE_BYTES;

    private final TalkingAgent agent = new TalkingAgent();
    private final Mailbox mailbox = new Mailbox(MAILBOX_BYTES);
    private Server server;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws IOException {
        String name = UUID.randomUUID().toString();
        server = InProcessServerBuilder.forName(name).addService(agent).build().start();
        channel = InProcessChannelBuilder.forName(name).build();
    }

    @AfterEach
    void stop() {
        channel.shutdownNow();
        server.shutdownNow();
    }

    /** Sends numbered notices as fast as gRPC takes them; reads one message, and no more. */
    private static final class TalkingAgent extends AgentImplBase {
        final AtomicInteger sent = new AtomicInteger();

        @Override
        public StreamObserver<ControlRequest> control(StreamObserver<ControlResponse> toCoordinator) {
            ServerCallStreamObserver<ControlResponse> stream =
                    (ServerCallStreamObserver<ControlResponse>) toCoordinator;
            stream.disableAutoRequest();
            stream.request(1);
            stream.setOnCancelHandler(() -> {});
            stream.setOnReadyHandler(() -> talk(stream));
            return new StreamObserver<>() {
                @Override
                public void onNext(ControlRequest message) {}

                @Override
                public void onError(Throwable lost) {}

                @Override
                public void onCompleted() {}
            };
        }

        private void talk(ServerCallStreamObserver<ControlResponse> stream) {
            while (stream.isReady() && sent.get() < MESSAGES) {
                String text = "x".repeat(MESSAGE_BYTES) + sent.getAndIncrement();
                stream.onNext(ControlResponse.newBuilder()
                        .setNotice(UserNotice.newBuilder().setText(text))
                        .build());
            }
        }
    }

    @Test
    void agentThatSendsMoreThanIsReadWaits() throws InterruptedException {
        AgentConnection link = AgentConnection.open(7, new DirectRoute(channel), mailbox);
        long deadline = System.nanoTime() + TIMEOUT;
        while (!link.isHeld()) {
            assertThat(System.nanoTime() - deadline).as("no call waits").isNegative();
            Thread.onSpinWait();
        }
        for (int turn = 0; turn < 10; turn++) {
            assertThat(link.beat(3))
                    .as("the agent's silence is this side's doing")
                    .isTrue();
        }
        assertThat(agent.sent).hasValueLessThanOrEqualTo(MAILBOX_BYTES / MESSAGE_BYTES + 2);
        for (int number = 0; number < MESSAGES; number++) {
            CoordinatorMessage mail = Objects.requireNonNull(mailbox.poll(TIMEOUT), "message " + number);
            assertThat(((CoordinatorMessage.AgentResponse) mail)
                            .message()
                            .getNotice()
                            .getText())
                    .endsWith("x" + number);
        }
        link.close();
    }

    @Test
    void agentThatDoesNotReadIsReleased() throws InterruptedException {
        AgentConnection link = AgentConnection.open(7, new DirectRoute(channel), mailbox);
        ControlRequest reply = ControlRequest.newBuilder()
                .setWorkerFrame(WorkerFrame.newBuilder().setFrame(ByteString.copyFrom(new byte[1 << 20])))
                .build();
        for (int sent = 0; sent < 60; sent++) {
            link.send(reply);
        }
        assertThat(link.isOpen()).isTrue();
        for (int sent = 0; sent < 10; sent++) {
            link.send(reply);
        }
        assertThat(link.isOpen()).isFalse();
        CoordinatorMessage mail = Objects.requireNonNull(mailbox.poll(TIMEOUT));
        while (mail instanceof CoordinatorMessage.AgentResponse) {
            mail = Objects.requireNonNull(mailbox.poll(TIMEOUT));
        }
        assertThat(mail)
                .isEqualTo(new CoordinatorMessage.ControlCallEnded(
                        7, "the agent does not read its messages: more than 64 MiB are unsent", false));
    }

    @Test
    void brokenLinkIsReportedOnce() throws Exception {
        int rounds = 2_000;
        List<String> reported = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            Mailbox box = new Mailbox(Mailbox.MAX_BYTES);
            AgentConnection link = AgentConnection.open(round, new DirectRoute(channel), box);
            CyclicBarrier both = new CyclicBarrier(2);
            Thread other = Thread.ofPlatform().start(() -> breakOff(link, both));
            breakOff(link, both);
            other.join();
            for (CoordinatorMessage mail = box.poll(0); mail != null; mail = box.poll(0)) {
                if (mail instanceof CoordinatorMessage.ControlCallEnded(int id, String why, boolean _)) {
                    reported.add(id + " " + why);
                }
            }
        }
        assertThat(reported).hasSize(rounds);
    }

    private static void breakOff(AgentConnection link, CyclicBarrier both) {
        try {
            both.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        link.breakOff("silent");
    }
}
