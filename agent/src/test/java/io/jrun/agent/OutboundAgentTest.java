package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.MethodDescriptor;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.AgentListener.DialedAgent;
import io.jrun.agent.control.TestWorker;
import io.jrun.agent.proto.AgentWelcome;
import io.jrun.agent.proto.RegistrationGrpc;
import io.jrun.agent.proto.RegistrationReply;
import io.jrun.agent.proto.RegistrationRequest;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An agent that dials; this JVM is its launcher. */
@Timeout(60)
class OutboundAgentTest {
    private static final AgentSecret SECRET = AgentSecret.of("0123456789abcdef".getBytes(StandardCharsets.US_ASCII));

    /** The store takes no larger value. */
    private static final Bytes VALUE = Bytes.of(new byte[FrameCodec.MAX_VALUE_BYTES]);

    /** More than the 64 MiB of the queue and the buffers of the connections. */
    private static final int VALUES = 100;

    @TempDir
    Path folder;

    private final CompletableFuture<DialedAgent> dialed = new CompletableFuture<>();
    private final CompletableFuture<OutboundAgent.End> end = new CompletableFuture<>();
    private final ExecutorService launcher = Executors.newSingleThreadExecutor();
    private AgentListener listener;

    @BeforeEach
    void start() throws IOException {
        listener = AgentListener.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), SECRET, dialed::complete, _ -> {});
        OutboundAgent.DialSettings call = new OutboundAgent.DialSettings(
                List.of(new LauncherAddress("localhost", listener.port())), "", "0", "", "", Duration.ZERO);
        OutboundAgent agent = new OutboundAgent(call, SECRET, TestJob.options(), Optional.empty());
        Thread.ofPlatform().daemon().start(() -> {
            try {
                end.complete(agent.serve());
            } catch (IOException | InterruptedException | RuntimeException e) {
                end.completeExceptionally(e);
            }
        });
    }

    @AfterEach
    void close() {
        listener.close();
        launcher.shutdownNow();
    }

    /** Takes the agent; completing the result ends it. */
    private static StreamObserver<RegistrationReply> welcome(Channel agent) {
        CompletableFuture<Void> arrived = new CompletableFuture<>();
        StreamObserver<RegistrationReply> toAgent = RegistrationGrpc.newStub(agent)
                .register(new StreamObserver<RegistrationRequest>() {
                    @Override
                    public void onNext(RegistrationRequest message) {
                        arrived.complete(null);
                    }

                    @Override
                    public void onError(Throwable lost) {
                        arrived.completeExceptionally(lost);
                    }

                    @Override
                    public void onCompleted() {}
                });
        arrived.join();
        toAgent.onNext(RegistrationReply.newBuilder()
                .setWelcome(AgentWelcome.getDefaultInstance())
                .build());
        return toAgent;
    }

    /** The {@code launcher} handles the messages of the agent. */
    private Channel readBy(ExecutorService executor, Channel agent) {
        return ClientInterceptors.intercept(agent, new ClientInterceptor() {
            @Override
            public <Q, R> ClientCall<Q, R> interceptCall(
                    MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
                return next.newCall(method, options.withExecutor(executor));
            }
        });
    }

    /** The agent closes the connection when it has ended the job. */
    private static void sendUntilClosed(TestWorker worker) {
        try {
            for (int i = 0; i < VALUES; i++) {
                worker.send(new Frame.StoreRequest(i, new StoreCommand.Set("key", VALUE)));
            }
        } catch (IOException closed) {
            assertThat(closed).hasMessageContaining("Broken pipe");
        }
    }

    @Test
    void messagesToALauncherThatStandsStillHaveALimit() throws Exception {
        Channel agent = dialed.get(20, TimeUnit.SECONDS).channel();
        StreamObserver<RegistrationReply> registration = welcome(agent);
        TestJob job = TestJob.over(readBy(launcher, agent), folder);
        assertThat(job.open().getAddress()).isEqualTo("127.0.0.1");
        job.launch(job.shells(1, "echo \"$JRUN_AGENT_SOCKET\"; exec sleep 300"));
        long pid = job.pid(0);
        job.awaitStdout(0, "\n");
        CompletableFuture<Void> goOn = new CompletableFuture<>();
        launcher.execute(goOn::join);
        try (TestWorker worker = new TestWorker(Path.of(job.stdout(0).strip()))) {
            worker.send(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 0, pid));
            sendUntilClosed(worker);
        }
        Processes.await(() -> !Processes.isAlive(pid));
        registration.onCompleted();
        assertThat(end.get(20, TimeUnit.SECONDS))
                .isInstanceOfSatisfying(
                        OutboundAgent.End.Dropped.class,
                        dropped ->
                                assertThat(dropped.why()).contains("wait for the launcher", "at most 67108864 unread"));
        goOn.complete(null);
    }
}
