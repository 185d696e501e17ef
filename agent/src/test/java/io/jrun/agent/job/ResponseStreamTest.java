package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.Processes;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.UserNotice;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A launcher reads only what it asks for. */
@Timeout(60)
class ResponseStreamTest {
    private static final int MOST_BYTES = 1000;

    private final List<String> read = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Status> end = new CompletableFuture<>();
    private final CompletableFuture<ResponseStream<ControlResponse>> opened = new CompletableFuture<>();
    private final CompletableFuture<ClientCallStreamObserver<ControlRequest>> launcher = new CompletableFuture<>();
    private Server server;
    private ManagedChannel channel;

    @BeforeEach
    void open() throws IOException {
        String name = UUID.randomUUID().toString();
        server = InProcessServerBuilder.forName(name)
                .directExecutor()
                .addService(new Agent())
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).directExecutor().build();
        var _ = AgentGrpc.newStub(channel).control(new Launcher());
    }

    @AfterEach
    void close() {
        channel.shutdownNow();
        server.shutdownNow();
    }

    @Test
    void unrequestedMessagesWaitAndKeepTheirOrder() throws IOException {
        for (int i = 0; i < 50; i++) {
            opened.join().send(message(Integer.toString(i)));
        }
        opened.join().complete();
        launcher.join().request(100);
        Processes.await(end::isDone);
        assertThat(end.join().isOk()).isTrue();
        assertThat(read)
                .containsExactlyElementsOf(
                        IntStream.range(0, 50).mapToObj(Integer::toString).toList());
    }

    @Test
    void moreThanMayWaitIsAnErrorThatNamesNodeAndBytes() throws IOException {
        CompletableFuture<Boolean> overflown = new CompletableFuture<>();
        opened.join().onOverflow(_ -> overflown.complete(true));
        for (int i = 0; i < 1000 && !overflown.isDone(); i++) {
            opened.join().send(message("x".repeat(100)));
        }
        assertThat(overflown).isCompleted();
        launcher.join().request(100);
        Processes.await(end::isDone);
        assertThat(end.join().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(end.join().getDescription())
                .containsPattern("^1\\d\\d\\d bytes of messages of gpu7 wait for the launcher, .* at most 1000 unread");
        assertThat(read).hasSizeLessThan(10);
    }

    private static ControlResponse message(String text) {
        return ControlResponse.newBuilder()
                .setNotice(UserNotice.newBuilder().setText(text))
                .build();
    }

    private final class Agent extends AgentGrpc.AgentImplBase {
        @Override
        public StreamObserver<ControlRequest> control(StreamObserver<ControlResponse> stream) {
            opened.complete(
                    new ResponseStream<>((ServerCallStreamObserver<ControlResponse>) stream, "gpu7", MOST_BYTES));
            return new Ignoring();
        }
    }

    private static final class Ignoring implements StreamObserver<ControlRequest> {
        @Override
        public void onNext(ControlRequest message) {}

        @Override
        public void onError(Throwable cause) {}

        @Override
        public void onCompleted() {}
    }

    private final class Launcher implements ClientResponseObserver<ControlRequest, ControlResponse> {
        @Override
        public void beforeStart(ClientCallStreamObserver<ControlRequest> stream) {
            stream.disableAutoRequestWithInitial(0);
            launcher.complete(stream);
        }

        @Override
        public void onNext(ControlResponse message) {
            read.add(message.getNotice().getText());
        }

        @Override
        public void onError(Throwable cause) {
            end.complete(Status.fromThrowable(cause));
        }

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }
    }
}
