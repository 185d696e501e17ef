package io.jrun.launcher.arrival;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.AgentSecret;
import io.jrun.agent.HomeServer;
import io.jrun.agent.proto.Arrived;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.HomeGrpc.HomeImplBase;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.ToAgent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Where a job's agents arrive: each finds its place by the node's name. Thread-safe. */
public final class Arrivals implements AutoCloseable {
    private final String version;
    private final Map<String, Arrival> places = new ConcurrentHashMap<>();
    private final HomeServer server;

    private Arrivals(InetSocketAddress address, AgentSecret secret, String version, Consumer<String> log)
            throws IOException {
        this.version = version;
        this.server = HomeServer.listen(address, secret, new Home(), log);
    }

    /**
     * Listens for agents that know {@code secret}.
     *
     * @param address port 0 for any free one
     * @param version agents of another one are refused
     * @param log hears, once, of a caller that was refused
     */
    public static Arrivals listen(InetSocketAddress address, AgentSecret secret, String version, Consumer<String> log)
            throws IOException {
        return new Arrivals(address, secret, version, log);
    }

    /** The port it listens on. */
    public int port() {
        return server.port();
    }

    /**
     * Makes a place for an agent.
     *
     * @param node the name that the agent gives
     * @param where the name of its host, for messages
     */
    public Arrival expect(String node, String where) throws IOException {
        Arrival place = Arrival.at(where);
        if (places.putIfAbsent(node, place) != null) {
            place.close();
            throw new IllegalArgumentException("two nodes are called " + node);
        }
        return place;
    }

    /** Ends the agents that have come, and stops listening. */
    @Override
    public void close() {
        places.values().forEach(Arrival::close);
        server.close();
    }

    private Arrival place(Arrived who, String caller) {
        Arrival place = places.get(who.getNode());
        if (place == null) {
            throw refusal("this job has no node '" + who.getNode() + "'");
        }
        if (!who.getJrunVersion().equals(version)) {
            place.refuse("it is jrun " + who.getJrunVersion() + ", this is jrun " + version
                    + "; install the same version on all nodes");
            throw refusal("the launcher is jrun " + version + ", this node's agent is jrun " + who.getJrunVersion()
                    + "; install the same version on all nodes");
        }
        if (!place.take()) {
            throw refusal("another agent has arrived for node '" + who.getNode() + "', this one is from " + caller);
        }
        return place;
    }

    private static RuntimeException refusal(String why) {
        return Status.FAILED_PRECONDITION.withDescription(why).asRuntimeException();
    }

    private final class Home extends HomeImplBase {
        @Override
        public StreamObserver<FromAgent> control(StreamObserver<ToAgent> toAgent) {
            return new Control((ServerCallStreamObserver<ToAgent>) toAgent, HomeServer.caller());
        }

        @Override
        public StreamObserver<LogChunk> logs(StreamObserver<LogCredit> toAgent) {
            return new Named<>(toAgent, LogChunk::getNode, Arrival::logs);
        }

        @Override
        public StreamObserver<FileRequest> files(StreamObserver<FileChunk> toAgent) {
            return new Named<>(toAgent, FileRequest::getNode, Arrival::files);
        }
    }

    /** Reads who comes, then leaves the stream to that node's place. gRPC calls it from one thread at a time. */
    private final class Control implements StreamObserver<FromAgent> {
        private final ServerCallStreamObserver<ToAgent> toAgent;
        private final String caller;
        private @Nullable StreamObserver<FromAgent> next;

        Control(ServerCallStreamObserver<ToAgent> toAgent, String caller) {
            this.toAgent = toAgent;
            this.caller = caller;
            toAgent.setOnCancelHandler(() -> onError(Status.CANCELLED.asRuntimeException()));
        }

        @Override
        public void onNext(FromAgent message) {
            if (next != null) {
                next.onNext(message);
                return;
            }
            try {
                next = place(message.getArrived(), caller).arrive(message.getArrived(), caller, toAgent);
            } catch (RuntimeException e) {
                toAgent.onError(e);
            }
        }

        @Override
        public void onError(Throwable lost) {
            if (next != null) {
                next.onError(lost);
            }
        }

        @Override
        public void onCompleted() {
            if (next != null) {
                next.onCompleted();
            } else {
                toAgent.onCompleted();
            }
        }
    }

    /** Reads which node a stream is from, then leaves it to that node's place. gRPC calls it from one thread at a time. */
    private final class Named<I, O> implements StreamObserver<I> {
        private final ServerCallStreamObserver<O> toAgent;
        private final Function<I, String> name;
        private final BiFunction<Arrival, StreamObserver<O>, StreamObserver<I>> tie;
        private @Nullable StreamObserver<I> next;

        /**
         * @param name what the first message says
         * @param tie ties the stream to that of the place
         */
        Named(
                StreamObserver<O> toAgent,
                Function<I, String> name,
                BiFunction<Arrival, StreamObserver<O>, StreamObserver<I>> tie) {
            this.toAgent = (ServerCallStreamObserver<O>) toAgent;
            this.name = name;
            this.tie = tie;
            this.toAgent.setOnCancelHandler(() -> onError(Status.CANCELLED.asRuntimeException()));
        }

        @Override
        public void onNext(I message) {
            if (next != null) {
                next.onNext(message);
                return;
            }
            Arrival place = places.get(name.apply(message));
            if (place == null) {
                toAgent.onError(refusal("this job has no node '" + name.apply(message) + "'"));
            } else {
                next = tie.apply(place, toAgent);
            }
        }

        @Override
        public void onError(Throwable lost) {
            if (next != null) {
                next.onError(lost);
            }
        }

        @Override
        public void onCompleted() {
            if (next != null) {
                next.onCompleted();
            }
        }
    }
}
