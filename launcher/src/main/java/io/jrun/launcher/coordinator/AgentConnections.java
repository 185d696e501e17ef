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
 * The connections to all agents of a job. The id of an agent is its index in the order of connecting. In an elastic job
 * the launcher connects again to a lost agent after a cool-down. Confined to the coordinator's thread.
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
     * @param reconnects the backoff of new connections to lost agents; empty if a lost agent stays lost
     * @param retries new connections to agents that close a connection before their first message
     * @param notices receives messages for the user
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

    /** The names of all agents in messages, by id. */
    SortedMap<Integer, String> names() {
        SortedMap<Integer, String> names = new TreeMap<>();
        for (int id = 0; id < agents.size(); id++) {
            names.put(id, where(id));
        }
        return names;
    }

    /** The name of an agent in messages; empty for the agent inside this process. */
    String where(int id) {
        return agents.get(id).where();
    }

    AgentConnection get(int id) {
        return links.get(id);
    }

    void send(int id, ControlRequest message) {
        links.get(id).send(message);
    }

    /** The number of agents, lost agents included. */
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
            links.get(id).measureClock();
        }
    }

    /**
     * The connection to the agent has ended. Schedules a new connection if the job is elastic and still needs the
     * agent.
     */
    void broken(int id) {
        if (!where(id).isEmpty() && !given.contains(id)) {
            reconnects.ifPresent(calls -> scheduleReconnect(id, calls));
        }
    }

    private void scheduleReconnect(int id, NodeReconnectBackoff calls) {
        Agent agent = agents.get(id);
        Optional<NodeReconnectBackoff.ScheduledCall> call = calls.lost(id, !agent.acceptsAnyNode());
        if (!agent.acceptsAnyNode()) {
            notices.accept(call.map(next -> "jrun connects to " + agent.where() + " again in "
                            + next.delay().toSeconds() + " s, attempt " + next.number() + " of "
                            + NodeReconnectBackoff.MOST)
                    .orElseGet(() -> "jrun does not connect to " + agent.where() + " again: "
                            + NodeReconnectBackoff.MOST + " connections in a row failed"));
        }
    }

    /**
     * An agent has closed the connection before its first message. Returns whether the launcher connects again: false
     * once the join timeout has passed.
     */
    boolean retryDropped(int id) {
        if (!retries.areAllowed()) {
            return false;
        }
        if (retries.add(id)) {
            notices.accept(
                    "the agent at " + where(id) + " closed the connection before the launcher had authenticated; an"
                            + " agent does so when too many connections without authentication are open. jrun tries"
                            + " again for at most "
                            + retries.seconds() + " s (--join-timeout)");
        }
        return true;
    }

    /** Opens the new connections that are due. */
    void reconnectDue() {
        reconnects.map(NodeReconnectBackoff::due).orElse(List.of()).forEach(this::callAgain);
        retries.due().forEach(this::callAgain);
    }

    private void callAgain(int id) {
        links.set(id, AgentConnection.open(id, agents.get(id).route(), mailbox));
        send(id, greeting.apply(id));
    }

    /** Ends the job on this agent, and connects again as to a lost agent. */
    void rest(int id, String why) {
        links.get(id).breakOff(why);
    }

    /** Ends the job on this agent; no further round follows. */
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
