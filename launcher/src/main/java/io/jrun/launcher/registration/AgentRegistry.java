package io.jrun.launcher.registration;

import io.jrun.agent.AgentListener;
import io.jrun.agent.AgentSecret;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.AgentArrived;
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
import java.util.function.Consumer;

/** Registers the agents that connect to a job. Each agent takes the slot with the name of its node. Thread-safe. */
public final class AgentRegistry implements AutoCloseable {
    private final String version;
    private final String job;
    private final Map<String, AgentSlot> slots = new ConcurrentHashMap<>();
    private final List<String> openToUnnamed = new CopyOnWriteArrayList<>();
    private final Map<String, String> machines = new ConcurrentHashMap<>();
    private final Consumer<String> log;
    private final AgentSecret secret;
    private final AgentListener listener;
    private volatile String shut = "";
    private volatile boolean onePerMachine;

    private AgentRegistry(
            InetSocketAddress address, AgentSecret secret, String version, String job, Consumer<String> log)
            throws IOException {
        this.version = version;
        this.job = job;
        this.log = log;
        this.secret = secret;
        this.listener =
                AgentListener.listen(address, secret, dialed -> ArrivingAgent.register(dialed, this::register), log);
    }

    /**
     * Listens for agents that know {@code secret}.
     *
     * @param address the address to listen at; port 0 for any free port
     * @param version of jrun; agents of another version are refused
     * @param job name of the job; agents of other jobs are refused. Empty if only agents of this job know the secret
     * @param log receives one line about refused callers
     */
    public static AgentRegistry listen(
            InetSocketAddress address, AgentSecret secret, String version, String job, Consumer<String> log)
            throws IOException {
        return new AgentRegistry(address, secret, version, job, log);
    }

    /** The port on which the registry listens. */
    public int port() {
        return listener.port();
    }

    /**
     * Makes a slot for an agent.
     *
     * @param node the name that the agent sends
     * @param where the name of its host, for messages
     */
    public AgentSlot expect(String node, String where) {
        return expect(node, where, false);
    }

    private AgentSlot expect(String node, String where, boolean acceptsUnnamed) {
        AgentSlot slot = new AgentSlot(where, acceptsUnnamed);
        if (slots.putIfAbsent(node, slot) != null) {
            slot.close();
            throw new IllegalArgumentException("two nodes are called " + node);
        }
        return slot;
    }

    /**
     * Makes a slot that an agent without a name may take too. Such agents take these slots in the order of creation.
     */
    public AgentSlot expectUnnamed(String node, String where) {
        AgentSlot slot = expect(node, where, true);
        openToUnnamed.add(node);
        return slot;
    }

    /** Refuses all further agents, with {@code why}. */
    public void shut(String why) {
        shut = why;
    }

    /** Stops listening, and keeps the agents that have arrived. Other programs may then listen on the port. */
    public void releasePort() {
        listener.stopListening();
    }

    /**
     * Refuses, from now on, an agent without a name if an agent of its machine, or this process, takes part already.
     * Jobs of the same command line without a name share one generated name.
     */
    public void onePerMachine() {
        onePerMachine = true;
    }

    /** Sends the exit code of the job to all agents that have arrived, and ends these agents. */
    public void sendExitCode(int exitCode) {
        slots.values().forEach(slot -> slot.arrival().sendExitCode(exitCode));
    }

    /** Ends the agents that have arrived, and stops listening. */
    @Override
    public void close() {
        slots.values().forEach(AgentSlot::close);
        listener.close();
    }

    /** The slot for {@code who}. */
    private AgentRegistration register(ArrivingAgent agent, AgentArrived who) {
        if (!secret.isToken(who.getToken().toByteArray())) {
            throw refusal("the agent does not know the secret of this job");
        }
        synchronized (machines) { // the second of two agents that arrive at once sees the first
            String node = slotOf(who, agent.address());
            machines.put(node, machine(who.getHost(), agent.address()));
            return Objects.requireNonNull(slots.get(node)).arrival();
        }
    }

    /** The name of the slot for {@code who}. */
    private String slotOf(AgentArrived who, String caller) {
        if (!shut.isEmpty()) {
            throw refusal(shut);
        }
        if (!who.getJob().equals(job)) {
            throw refusal("the nodes of job '" + job + "' use this address, but this node belongs to job '"
                    + who.getJob() + "'; all nodes of a job need the same --rdzv-id, or the same command line without"
                    + " --rdzv-id");
        }
        if (onePerMachine && who.getNode().isEmpty() && isHere(who.getHost(), caller)) {
            log.accept("a second jrun on " + who.getHost()
                    + " was refused. If the second jrun belongs to another job of the same command line, other nodes"
                    + " of that job may have joined this job: give each job its own --rdzv-id");
            throw refusal(
                    "a jrun on this machine, " + who.getHost() + ", takes part in a job of the same command line at"
                            + " this address already; give each job its own --rdzv-id, also a job with several nodes"
                            + " on a machine");
        }
        if (who.getNode().isEmpty()) {
            return openToUnnamed.stream()
                    .filter(node -> take(node, who))
                    .findFirst()
                    .orElseThrow(() -> openToUnnamed.stream().anyMatch(this::hasLeft)
                            ? later("a node")
                            : refusal("all " + slots.size() + " nodes of this job have joined already"));
        }
        if (!slots.containsKey(who.getNode())) {
            throw refusal("this job has no node '" + who.getNode() + "'");
        }
        if (!take(who.getNode(), who)) {
            throw hasLeft(who.getNode())
                    ? later("node '" + who.getNode() + "'")
                    : refusal("another agent has arrived for node '" + who.getNode() + "', this one is from " + caller);
        }
        return who.getNode();
    }

    /** Whether an agent of that machine has joined, or this process runs on the machine. */
    private boolean isHere(String host, String caller) {
        return (host.equals(NodeProbe.hostHere()) && isOwnAddress(caller))
                || slots.entrySet().stream()
                        .anyMatch(entry -> entry.getValue().arrival().isPresent()
                                && machine(host, caller).equals(machines.get(entry.getKey())));
    }

    /** Compares address and name. Containers may share an address (behind a gateway) or a name, but hardly both. */
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

    private boolean take(String node, AgentArrived who) {
        AgentRegistration arrival = Objects.requireNonNull(slots.get(node)).arrival();
        if (!who.getJrunVersion().equals(version)) {
            if (job.isEmpty() && arrival.take()) { // in a rendezvous, an agent of the right version may arrive later
                arrival.refuse("the agent is jrun " + who.getJrunVersion() + ", the launcher is jrun " + version
                        + "; install the same version on all nodes");
            }
            throw refusal("the launcher is jrun " + version + ", this node's agent is jrun " + who.getJrunVersion()
                    + "; install the same version on all nodes");
        }
        return arrival.take();
    }

    private boolean hasLeft(String node) {
        return Objects.requireNonNull(slots.get(node)).arrival().left().isDone();
    }

    private static RuntimeException later(String node) {
        return new ArrivingAgent.RegistrationRefusedException(
                node + " of this job was lost, and its slot is free again after --node-cooldown", true);
    }

    private static RuntimeException refusal(String why) {
        return new ArrivingAgent.RegistrationRefusedException(why, false);
    }
}
