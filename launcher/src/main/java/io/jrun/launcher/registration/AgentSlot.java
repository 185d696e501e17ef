package io.jrun.launcher.registration;

import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc.AgentImplBase;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.ToAgent;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.job.StopSignal;
import java.io.IOException;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * The place of one node's agent, for the whole job. The coordinator talks to it from the start, as to an agent that is slow to
 * answer. When it calls a second time, after the agent was lost, the place is free again for another one. Thread-safe.
 */
public final class AgentSlot implements AutoCloseable {
    private final String where;
    private final boolean forAnybody;
    private final Server server;
    private final ManagedChannel channel;
    private volatile Consumer<StopSignal> onSignal = _ -> {};
    private volatile Runnable onRecall = () -> {};
    private volatile AgentRegistration arrival = new AgentRegistration(this::signal);

    private AgentSlot(String where, boolean forAnybody, String name) throws IOException {
        this.where = where;
        this.forAnybody = forAnybody;
        this.server = InProcessServerBuilder.forName(name)
                .directExecutor()
                .addService(new Face())
                .addService(arrival.doctorQueries()) // of the first agent: a doctor calls nobody twice
                .build()
                .start();
        this.channel = InProcessChannelBuilder.forName(name).build();
    }

    /** A free place for the node that messages call {@code where}. */
    static AgentSlot at(String where, boolean forAnybody) throws IOException {
        return new AgentSlot(where, forAnybody, "jrun-place-" + UUID.randomUUID());
    }

    /** The node's agent, for the coordinator; it need not have arrived. */
    public Agent agent() {
        return new Agent(where, channel, forAnybody);
    }

    /** Whoever is expected, is here, or was here last. */
    public AgentRegistration arrival() {
        return arrival;
    }

    /** Who hears of signals that the node's own process gets; nobody if not set. */
    public void onSignal(Consumer<StopSignal> receiver) {
        onSignal = receiver;
    }

    /** Runs, on a thread that must not wait, when the coordinator has called again and another agent is expected. */
    void onRecall(Runnable receiver) {
        onRecall = receiver;
    }

    /** Expects another agent instead of one that has left; before the coordinator has called. */
    public synchronized void renew() {
        arrival.close();
        arrival = new AgentRegistration(this::signal);
    }

    private void signal(StopSignal signal) {
        onSignal.accept(signal);
    }

    /** Takes the place away; the agent, if it is there, ends. */
    @Override
    public void close() {
        arrival.close();
        channel.shutdownNow();
        server.shutdownNow();
    }

    /** The coordinator has called: whom it is to talk to. */
    private synchronized AgentRegistration called() {
        if (!arrival.call()) {
            renew();
            arrival.call();
            onRecall.run();
        }
        return arrival;
    }

    /** What the coordinator sees as the agent. */
    private final class Face extends AgentImplBase {
        @Override
        public StreamObserver<ToAgent> control(StreamObserver<FromAgent> toCoordinator) {
            return called().controlled(quiet(toCoordinator));
        }

        @Override
        public StreamObserver<LogCredit> logs(StreamObserver<LogChunk> toConsole) {
            return arrival.logged(quiet(toConsole));
        }

        @Override
        public StreamObserver<FileChunk> files(StreamObserver<FileRequest> toDesk) {
            return arrival.supplied(quiet(toDesk));
        }

        /** With a handler, what is sent after a stream's end is dropped instead of thrown at us. */
        private static <M> ServerCallStreamObserver<M> quiet(StreamObserver<M> stream) {
            ServerCallStreamObserver<M> call = (ServerCallStreamObserver<M>) stream;
            call.setOnCancelHandler(() -> {});
            return call;
        }
    }
}
