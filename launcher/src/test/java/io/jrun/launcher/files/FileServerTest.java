package io.jrun.launcher.files;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.AgentGrpc.AgentImplBase;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.JobClaim;
import io.jrun.comm.file.Sha256;
import io.jrun.launcher.cli.Requests;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents request files of a job, each over a connection of the loopback interface. */
class FileServerTest {
    private static final int PIECE_BYTES = 1 << 18;
    private static final JobClaim CLAIM = JobClaim.newBuilder().setRunId("run").build();

    @TempDir
    Path folder;

    private final BlockingQueue<RequestingAgent> asking = new LinkedBlockingQueue<>();
    private Server server;
    private final List<ManagedChannel> channels = new ArrayList<>();

    @BeforeEach
    void start() throws IOException {
        AgentImplBase agents = new AgentImplBase() {
            @Override
            public StreamObserver<FileChunk> files(StreamObserver<FileRequest> requests) {
                RequestingAgent agent = new RequestingAgent((ServerCallStreamObserver<FileRequest>) requests);
                asking.add(agent);
                return agent;
            }
        };
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .flowControlWindow(PIECE_BYTES / 4)
                .addService(agents)
                .build()
                .start();
    }

    @AfterEach
    void stop() {
        channels.forEach(ManagedChannel::shutdownNow);
        server.shutdownNow();
    }

    /** An agent that reads as many answers as the test requests. */
    private static final class RequestingAgent implements StreamObserver<FileChunk> {
        private final ServerCallStreamObserver<FileRequest> requests;
        private final BlockingQueue<FileChunk> answers = new LinkedBlockingQueue<>();

        RequestingAgent(ServerCallStreamObserver<FileRequest> requests) {
            this.requests = requests;
            requests.disableAutoRequest();
            requests.setOnCancelHandler(() -> {});
        }

        void request(FileRequest.Builder request) {
            requests.onNext(request.build());
        }

        FileChunk read() throws InterruptedException {
            requests.request(1);
            return next();
        }

        /** An answer that was requested before. */
        FileChunk next() throws InterruptedException {
            return Objects.requireNonNull(answers.poll(30, TimeUnit.SECONDS), "no answer within 30 s");
        }

        @Override
        public void onNext(FileChunk chunk) {
            answers.add(chunk);
        }

        @Override
        public void onError(Throwable lost) {}

        @Override
        public void onCompleted() {}
    }

    private FileServer fileServer(SendSlots slots) throws IOException {
        return new FileServer(JobFiles.of(new Requests(folder).run("--stage=words", "sh")), _ -> {}, slots);
    }

    private RequestingAgent connect(FileServer fileServer) throws InterruptedException {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        server.getListenSockets().getFirst())
                .usePlaintext()
                .build();
        channels.add(channel);
        FileServer.AgentTransfer transfer = fileServer.beginTransfer();
        AgentGrpc.newStub(channel).files(transfer);
        transfer.begin(CLAIM);
        return Objects.requireNonNull(asking.poll(30, TimeUnit.SECONDS));
    }

    @Test
    void serverAnswersWithPiecesAndHashesOfTheJobsFilesAlone() throws Exception {
        Files.writeString(folder.resolve("words"), "0123456789");
        RequestingAgent agent = connect(fileServer(new SendSlots(1)));
        assertThat(agent.read().getJob()).isEqualTo(CLAIM);
        agent.request(FileRequest.newBuilder().setDigest(true));
        assertThat(agent.read().getSha256()).isEqualTo(ByteString.copyFrom(Sha256.of(folder.resolve("words"))));
        agent.request(FileRequest.newBuilder().setOffset(3).setBytes(4));
        assertThat(agent.read().getData()).isEqualTo(ByteString.copyFromUtf8("3456"));
        agent.request(FileRequest.newBuilder().setOffset(8).setBytes(4));
        assertThat(agent.read().getError()).contains("no 4 bytes at 8 of 10");
        agent.request(FileRequest.newBuilder().setFile(1).setBytes(1));
        assertThat(agent.read().getError()).isEqualTo("this job has no file 1");
        Files.writeString(folder.resolve("words"), "x", StandardOpenOption.APPEND);
        agent.request(FileRequest.newBuilder().setBytes(1));
        assertThat(agent.read().getError()).contains("has changed");
        Files.delete(folder.resolve("words"));
        agent.request(FileRequest.newBuilder().setBytes(1));
        assertThat(agent.read().getError()).contains("cannot read the file");
    }

    /** All agents request all pieces at once, and none reads. Without a limit all pieces would be in memory. */
    @Test
    void slowAgentsDoNotFillTheMemory() throws Exception {
        int pieces = 4;
        byte[] words = new byte[pieces * PIECE_BYTES];
        new Random(1).nextBytes(words);
        Files.write(folder.resolve("words"), words);
        SendSlots slots = new SendSlots(5);
        FileServer fileServer = fileServer(slots);
        List<RequestingAgent> agents = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            RequestingAgent agent = connect(fileServer);
            for (int piece = 0; piece < pieces; piece++) {
                agent.request(FileRequest.newBuilder()
                        .setOffset((long) piece * PIECE_BYTES)
                        .setBytes(PIECE_BYTES));
            }
            agents.add(agent);
        }
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (slots.waiting() < 15) {
            assertThat(System.nanoTime() - deadline)
                    .as("15 agents wait for a slot")
                    .isNegative();
            Thread.onSpinWait();
        }
        assertThat(slots.taken()).as("one piece for each of five agents").isEqualTo(5);
        agents.removeFirst()
                .requests
                .onError(new IllegalStateException("this agent fails, and its slot must be free again"));
        // All agents read now. If one agent at a time read, the agents with the slots could be those that do not read.
        agents.forEach(agent -> agent.requests.request(1 + pieces));
        for (RequestingAgent agent : agents) {
            assertThat(agent.next().getJob()).isEqualTo(CLAIM);
        }
        for (int piece = 0; piece < pieces; piece++) {
            for (RequestingAgent agent : agents) {
                assertThat(agent.next().getData())
                        .isEqualTo(ByteString.copyFrom(words, piece * PIECE_BYTES, PIECE_BYTES));
            }
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (slots.taken() > 0) {
            assertThat(System.nanoTime() - end)
                    .as("all slots are free again, but %s of agents %s", slots.taken(), slots.waiting())
                    .isNegative();
            Thread.onSpinWait();
        }
    }
}
