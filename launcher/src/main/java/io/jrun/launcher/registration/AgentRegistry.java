package io.jrun.launcher.registration;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.AgentSecret;
import io.jrun.agent.InboundAgentServer;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.Arrived;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.HomeGrpc.HomeImplBase;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.ToAgent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Where a job's agents arrive: each finds its place by the node's name. Thread-safe. */
public final class AgentRegistry implements AutoCloseable {
    private final String version;
    private final String job;
    private final Map<String, AgentSlot> places = new ConcurrentHashMap<>();
    private final List<String> forAnybody = new CopyOnWriteArrayList<>();
    private final Map<String, String> machines = new ConcurrentHashMap<>();
    private final Consumer<String> log;
    private final InboundAgentServer server;
    private volatile String shut = "";
    private volatile boolean onePerMachine;

    private AgentRegistry(
            InetSocketAddress address, AgentSecret secret, String version, String job, Consumer<String> log)
            throws IOException {
        this.version = version;
        this.job = job;
        this.log = log;
        this.server = InboundAgentServer.listen(address, secret, new Home(), log);
    }

    /**
     * Listens for agents that know {@code secret}.
     *
     * @param address port 0 for any free one
     * @param version agents of another one are refused
     * @param job agents that want to join another one are refused; empty if the secret is for one job alone
     * @param log hears, once, of a caller that was refused
     */
    public static AgentRegistry listen(
            InetSocketAddress address, AgentSecret secret, String version, String job, Consumer<String> log)
            throws IOException {
        return new AgentRegistry(address, secret, version, job, log);
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
    public AgentSlot expect(String node, String where) throws IOException {
        return expect(node, where, false);
    }

    private AgentSlot expect(String node, String where, boolean anybody) throws IOException {
        AgentSlot place = AgentSlot.at(where, anybody);
        if (places.putIfAbsent(node, place) != null) {
            place.close();
            throw new IllegalArgumentException("two nodes are called " + node);
        }
        return place;
    }

    /** Makes a place that also an agent without a name may take; the first that was made goes first. */
    public AgentSlot expectAnybody(String node, String where) throws IOException {
        AgentSlot place = expect(node, where, true);
        forAnybody.add(node);
        return place;
    }

    /** From now on whoever comes is refused, with {@code why}. */
    public void shut(String why) {
        shut = why;
    }

    /**
     * From now on an agent without a name is refused where there is another one of its machine, or this process: the name of a job
     * that was given none is that of every job of the same command line.
     */
    public void onePerMachine() {
        onePerMachine = true;
    }

    /** Ends the agents that have come, which hear how the job has ended. */
    public void tell(int exitCode) {
        places.values().forEach(place -> place.arrival().tell(exitCode));
    }

    /** Ends the agents that have come, and stops listening. */
    @Override
    public void close() {
        places.values().forEach(AgentSlot::close);
        server.close();
    }

    /** The name of the place that {@code who} takes. */
    private String seat(Arrived who, String caller) {
        if (!shut.isEmpty()) {
            throw refusal(shut);
        }
        if (!who.getJob().equals(job)) {
            throw refusal("this is where the nodes of job '" + job + "' meet, and this node's is '" + who.getJob()
                    + "'; all need the same --rdzv-id, or without it the same command line");
        }
        if (onePerMachine && who.getNode().isEmpty() && isHere(who.getHost(), caller)) {
            log.accept("a second jrun on " + who.getHost()
                    + " was refused. If it belongs to another job of the same command"
                    + " line, other nodes of that job may have joined this one: give each job its own --rdzv-id");
            throw refusal(
                    "a jrun on this machine, " + who.getHost() + ", takes part in a job of the same command line that"
                            + " meets there already; give each job its own --rdzv-id, and one to a job with several nodes on a machine");
        }
        if (who.getNode().isEmpty()) {
            return forAnybody.stream()
                    .filter(node -> take(node, who))
                    .findFirst()
                    .orElseThrow(() -> forAnybody.stream().anyMatch(this::hasLeft)
                            ? later("a node")
                            : refusal("all " + places.size() + " nodes of this job have come already"));
        }
        if (!places.containsKey(who.getNode())) {
            throw refusal("this job has no node '" + who.getNode() + "'");
        }
        if (!take(who.getNode(), who)) {
            throw hasLeft(who.getNode())
                    ? later("node '" + who.getNode() + "'")
                    : refusal("another agent has arrived for node '" + who.getNode() + "', this one is from " + caller);
        }
        return who.getNode();
    }

    /** Whether an agent on that machine is here, or this process runs on it. */
    private boolean isHere(String host, String caller) {
        return (host.equals(NodeProbe.hostHere()) && isOwnAddress(caller))
                || places.entrySet().stream()
                        .anyMatch(entry -> entry.getValue().arrival().isOnThisMachine()
                                && machine(host, caller).equals(machines.get(entry.getKey())));
    }

    /** Containers share addresses behind a gateway, or names, hardly both. */
    private static String machine(String host, String caller) {
        return host + " at " + caller;
    }

    private static boolean isOwnAddress(String address) {
        try {
            return NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address)) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    private boolean take(String node, Arrived who) {
        AgentRegistration arrival = Objects.requireNonNull(places.get(node)).arrival();
        if (!who.getJrunVersion().equals(version)) {
            if (job.isEmpty() && arrival.take()) { // where nodes meet, another of the right version may come
                arrival.refuse("it is jrun " + who.getJrunVersion() + ", this is jrun " + version
                        + "; install the same version on all nodes");
            }
            throw refusal("the launcher is jrun " + version + ", this node's agent is jrun " + who.getJrunVersion()
                    + "; install the same version on all nodes");
        }
        return arrival.take();
    }

    private boolean hasLeft(String node) {
        return Objects.requireNonNull(places.get(node)).arrival().left().isDone();
    }

    /** Not a refusal: who comes tries again. */
    private static RuntimeException later(String node) {
        return Status.UNAVAILABLE
                .withDescription(node + " of this job was lost, and its place is free again after --node-cooldown")
                .asRuntimeException();
    }

    private static RuntimeException refusal(String why) {
        return Status.FAILED_PRECONDITION.withDescription(why).asRuntimeException();
    }

    private final class Home extends HomeImplBase {
        @Override
        public StreamObserver<FromAgent> control(StreamObserver<ToAgent> toAgent) {
            return new Control((ServerCallStreamObserver<ToAgent>) toAgent, InboundAgentServer.caller());
        }

        @Override
        public StreamObserver<LogChunk> logs(StreamObserver<LogCredit> toAgent) {
            return new Named<>(toAgent, LogChunk::getNode, AgentRegistration::logs, _ -> {});
        }

        @Override
        public StreamObserver<FileRequest> files(StreamObserver<FileChunk> toAgent) {
            return new Named<>(toAgent, FileRequest::getNode, AgentRegistration::files, AgentRegistration::filesReady);
        }
    }

    /** Reads who comes, then leaves the stream to that node's place. gRPC calls it from one thread at a time. */
    private final class Control implements StreamObserver<FromAgent> {
        private final ServerCallStreamObserver<ToAgent> toAgent;
        private final String caller;
        private final Pace pace;
        private @Nullable StreamObserver<FromAgent> next;

        Control(ServerCallStreamObserver<ToAgent> toAgent, String caller) {
            this.toAgent = toAgent;
            this.caller = caller;
            this.pace = new Pace(toAgent);
            toAgent.setOnCancelHandler(() -> onError(Status.CANCELLED.asRuntimeException()));
        }

        @Override
        public void onNext(FromAgent message) {
            if (next == null) {
                arrive(message);
            } else {
                next.onNext(message);
            }
            pace.passed();
        }

        private void arrive(FromAgent message) {
            Arrived who = message.getArrived();
            try {
                synchronized (machines) { // of two that come at once, the second sees the first
                    String node = seat(who, caller);
                    machines.put(node, machine(who.getHost(), caller));
                    next = Objects.requireNonNull(places.get(node)).arrival().arrive(node, who, caller, toAgent, pace);
                }
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
        private final BiFunction<AgentRegistration, ServerCallStreamObserver<O>, StreamObserver<I>> tie;
        private volatile @Nullable AgentRegistration arrival;
        private @Nullable StreamObserver<I> next;

        /**
         * @param name what the first message says
         * @param tie ties the stream to that of the place
         * @param ready the stream takes more
         */
        Named(
                StreamObserver<O> toAgent,
                Function<I, String> name,
                BiFunction<AgentRegistration, ServerCallStreamObserver<O>, StreamObserver<I>> tie,
                Consumer<AgentRegistration> ready) {
            this.toAgent = (ServerCallStreamObserver<O>) toAgent;
            this.toAgent.setOnReadyHandler(() -> {
                AgentRegistration known = arrival;
                if (known != null) {
                    ready.accept(known);
                }
            });
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
            AgentSlot place = places.get(name.apply(message));
            if (place == null) {
                toAgent.onError(refusal("this job has no node '" + name.apply(message) + "'"));
            } else {
                AgentRegistration known = place.arrival();
                arrival = known;
                next = tie.apply(known, toAgent);
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
