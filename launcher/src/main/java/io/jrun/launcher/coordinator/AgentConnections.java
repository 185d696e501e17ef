package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlRequest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * The lines to all agents of a job, by id: in the order in which they were called. Where nodes may come and go, an agent that
 * was lost is called again when it has had time to cool down. Confined to the coordinator's thread.
 */
final class AgentConnections implements AutoCloseable {
    private final List<Agent> agents = new ArrayList<>();
    private final List<AgentConnection> links = new ArrayList<>();
    private final Set<Integer> given = new HashSet<>();
    private final Heartbeats heartbeats = Heartbeats.start();
    private final Mailbox mailbox;
    private final IntFunction<ControlRequest> greeting;
    private final Optional<NodeReconnectBackoff> reconnects;
    private final DroppedConnectionRetries retries;
    private final Consumer<String> notices;

    /**
     * @param greeting opens the job on the agent with this id
     * @param reconnects of lost agents; empty: there are none
     * @param retries of agents that close the connection before they have said anything
     * @param notices takes sentences for the user
     */
    AgentConnections(
            Mailbox mailbox,
            IntFunction<ControlRequest> greeting,
            Optional<NodeReconnectBackoff> reconnects,
            DroppedConnectionRetries retries,
            Consumer<String> notices) {
        this.mailbox = mailbox;
        this.greeting = greeting;
        this.reconnects = reconnects;
        this.retries = retries;
        this.notices = notices;
    }

    /** Opens the job on an agent. */
    void call(Agent agent) {
        int id = agents.size();
        agents.add(agent);
        links.add(AgentConnection.open(id, agent.route(), mailbox));
        send(id, greeting.apply(id));
    }

    /** How messages name them all. */
    SortedMap<Integer, String> names() {
        SortedMap<Integer, String> names = new TreeMap<>();
        for (int id = 0; id < agents.size(); id++) {
            names.put(id, where(id));
        }
        return names;
    }

    /** How messages name one; empty for the agent inside this process. */
    String where(int id) {
        return agents.get(id).where();
    }

    AgentConnection get(int id) {
        return links.get(id);
    }

    void send(int id, ControlRequest message) {
        links.get(id).send(message);
    }

    /** How many there are, also those that are lost. */
    int count() {
        return links.size();
    }

    void sendAll(ControlRequest message) {
        links.forEach(link -> link.send(message));
    }

    /** The agent has opened the job. */
    void opened(int id) {
        reconnects.ifPresent(calls -> calls.opened(id));
        if (!where(id).isEmpty()) {
            heartbeats.watch(links.get(id));
        }
    }

    /** The agent is gone; it is called again if that makes sense. */
    void broken(int id) {
        if (!where(id).isEmpty() && !given.contains(id)) {
            reconnects.ifPresent(calls -> scheduleReconnect(id, calls));
        }
    }

    private void scheduleReconnect(int id, NodeReconnectBackoff calls) {
        Agent agent = agents.get(id);
        Optional<NodeReconnectBackoff.ScheduledCall> call = calls.lost(id, !agent.isSeat());
        if (!agent.isSeat()) {
            notices.accept(call.map(next -> agent.where() + " is called again in "
                            + next.delay().toSeconds() + " s, time " + next.number() + " of "
                            + NodeReconnectBackoff.MOST)
                    .orElseGet(() -> agent.where() + " is not called again: it was lost after, or did not answer, "
                            + NodeReconnectBackoff.MOST + " calls in a row"));
        }
    }

    /**
     * An agent has closed the connection before it said anything. False if it is not called again, for the time in which nodes
     * may join is over.
     */
    boolean retryDropped(int id) {
        if (!retries.areAllowed()) {
            return false;
        }
        if (retries.add(id)) {
            notices.accept(
                    "the agent at " + where(id) + " closed the connection before it knew who called; it does so when"
                            + " too many connections that have proved nothing are open there. Trying again, at most for the "
                            + retries.seconds() + " s of --join-timeout");
        }
        return true;
    }

    /** Calls those again whose time has come. */
    void reconnectDue() {
        reconnects.map(NodeReconnectBackoff::due).orElse(List.of()).forEach(this::callAgain);
        retries.due().forEach(this::callAgain);
    }

    private void callAgain(int id) {
        links.set(id, AgentConnection.open(id, agents.get(id).route(), mailbox));
        send(id, greeting.apply(id));
    }

    /** Ends the job there, and calls again as one that was lost. */
    void rest(int id, String why) {
        links.get(id).breakOff(why);
    }

    /** Ends the job there, and does not call again. */
    void giveUp(int id, String why) {
        given.add(id);
        reconnects.ifPresent(calls -> calls.forget(id));
        retries.forget(id);
        links.get(id).breakOff(why);
    }

    @Override
    public void close() {
        heartbeats.close();
        links.forEach(AgentConnection::close);
    }
}
