package io.jrun.launcher.arrival;

import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.Relay;
import io.jrun.agent.proto.AgentGrpc.AgentImplBase;
import io.jrun.agent.proto.Arrived;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.JobEnded;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.RoundsOver;
import io.jrun.agent.proto.StreamFailed;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.Welcome;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.job.StopSignal;
import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The place of one node's agent. The coordinator talks to it from the start, as to an agent that is slow to answer; what it
 * says waits until the node has arrived, and fails when it is known that it will not. Thread-safe.
 */
public final class Arrival implements AutoCloseable {
    private final String where;
    private final Server server;
    private final ManagedChannel channel;
    private final AtomicBoolean taken = new AtomicBoolean();
    private final CompletableFuture<Void> arrived = new CompletableFuture<>();
    private final CompletableFuture<Void> left = new CompletableFuture<>();
    private volatile Consumer<StopSignal> onSignal = _ -> {};
    private final Relay<ToAgent> orders = new Relay<>();
    private final Relay<FromAgent> events = new Relay<>();
    private final Relay<LogCredit> credits = new Relay<>();
    private final Relay<LogChunk> chunks = new Relay<>();
    private final Relay<FileChunk> files = new Relay<>();
    private final Relay<FileRequest> requests = new Relay<>();

    private Arrival(String where, String name) throws IOException {
        this.where = where;
        this.server = InProcessServerBuilder.forName(name)
                .directExecutor()
                .addService(new Face())
                .build()
                .start();
        this.channel = InProcessChannelBuilder.forName(name).build();
    }

    /** A free place for the node that messages call {@code where}. */
    static Arrival at(String where) throws IOException {
        return new Arrival(where, "jrun-arrival-" + UUID.randomUUID());
    }

    /** The node's agent, for the coordinator; it need not have arrived. */
    public Agent agent() {
        return new Agent(where, channel);
    }

    /** Completes when the agent has arrived. */
    public CompletableFuture<Void> arrived() {
        return arrived;
    }

    /** Completes when an agent that had arrived is gone. */
    public CompletableFuture<Void> left() {
        return left;
    }

    /** Who hears of signals that the node's own process gets; nobody if not set. */
    public void onSignal(Consumer<StopSignal> receiver) {
        onSignal = receiver;
    }

    /** The agent will not come, or has left; the coordinator's streams fail with {@code why}, in its words "cannot be reached". */
    public void fail(String why) {
        fail(Status.UNAVAILABLE.withDescription(why));
    }

    private void fail(Status status) {
        events.onError(status.asRuntimeException());
        chunks.onError(status.asRuntimeException());
        requests.onError(status.asRuntimeException());
    }

    /** The node is here, but of another make: the coordinator hears that the agent refuses the job. */
    void refuse(String why) {
        fail(Status.FAILED_PRECONDITION.withDescription(why));
    }

    /** Whether nobody has taken this place so far; from now on it is taken. */
    boolean take() {
        return taken.compareAndSet(false, true);
    }

    /**
     * Ties the agent's stream to the coordinator's.
     *
     * @param caller the numeric address that the agent came from
     */
    StreamObserver<FromAgent> arrive(
            String node, Arrived who, String caller, ServerCallStreamObserver<ToAgent> toAgent) {
        String address = who.getAddress().isEmpty() ? caller : who.getAddress();
        toAgent.onNext(ToAgent.newBuilder()
                .setWelcome(Welcome.newBuilder().setNode(node))
                .build());
        orders.to(toAgent);
        arrived.complete(null);
        return new FromNode(address);
    }

    /** Ties the agent's log stream to the coordinator's. */
    StreamObserver<LogChunk> logs(StreamObserver<LogCredit> toAgent) {
        credits.to(toAgent);
        return chunks;
    }

    /** Ties the agent's stream of files to the coordinator's. */
    StreamObserver<FileRequest> files(StreamObserver<FileChunk> toAgent) {
        files.to(toAgent);
        return requests;
    }

    /** Ends the agent, if it is there, which hears how the job has ended. */
    void tell(int exitCode) {
        orders.onNext(ToAgent.newBuilder()
                .setJobEnded(JobEnded.newBuilder().setExitCode(exitCode))
                .build());
        orders.onCompleted();
    }

    /** Takes the place away; the agent, if it is there, ends. */
    @Override
    public void close() {
        orders.onCompleted();
        channel.shutdownNow();
        server.shutdownNow();
    }

    /** What the coordinator sees as the agent. */
    private final class Face extends AgentImplBase {
        @Override
        public StreamObserver<ToAgent> control(StreamObserver<FromAgent> toCoordinator) {
            quiet(toCoordinator);
            events.to(toCoordinator);
            return new FromCoordinator();
        }

        @Override
        public StreamObserver<LogCredit> logs(StreamObserver<LogChunk> toConsole) {
            quiet(toConsole);
            chunks.to(toConsole);
            return credits;
        }

        @Override
        public StreamObserver<FileChunk> files(StreamObserver<FileRequest> toDesk) {
            quiet(toDesk);
            requests.to(toDesk);
            return files;
        }

        /** With a handler, what is sent after a stream's end is dropped instead of thrown at us. */
        private static <M> void quiet(StreamObserver<M> stream) {
            ((ServerCallStreamObserver<M>) stream).setOnCancelHandler(() -> {});
        }
    }

    /** The coordinator's side of the control stream, which outlives it for a last word. */
    private final class FromCoordinator implements StreamObserver<ToAgent> {
        @Override
        public void onNext(ToAgent message) {
            orders.onNext(message);
        }

        @Override
        public void onError(Throwable lost) {
            onCompleted();
        }

        @Override
        public void onCompleted() {
            orders.onNext(ToAgent.newBuilder()
                    .setRoundsOver(RoundsOver.getDefaultInstance())
                    .build());
        }
    }

    /** The agent's side of the control stream. gRPC calls it from one thread at a time. */
    private final class FromNode implements StreamObserver<FromAgent> {
        private final String address;

        FromNode(String address) {
            this.address = address;
        }

        @Override
        public void onNext(FromAgent message) {
            switch (message.getMessageCase()) {
                case JOB_OPENED ->
                    events.onNext(FromAgent.newBuilder()
                            .setJobOpened(message.getJobOpened().toBuilder().setAddress(address))
                            .build());
                case STREAM_FAILED -> {
                    StreamFailed failed = message.getStreamFailed();
                    events.onError(Status.fromCodeValue(failed.getStatus())
                            .withDescription(failed.getDescription())
                            .asRuntimeException());
                }
                case STOP_ASKED ->
                    StopSignal.ofNumber(message.getStopAsked().getSignal()).ifPresent(onSignal);
                default -> events.onNext(message);
            }
        }

        @Override
        public void onError(Throwable lost) {
            fail("its connection was lost");
            left.complete(null);
        }

        @Override
        public void onCompleted() {
            events.onCompleted();
            left.complete(null);
        }
    }
}
