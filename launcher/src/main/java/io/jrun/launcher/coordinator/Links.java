package io.jrun.launcher.coordinator;

import io.grpc.ManagedChannel;
import io.jrun.agent.proto.ToAgent;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;

/**
 * The lines to all agents of a job, by id: in the order in which they were called. Where nodes may come and go, an agent that
 * was lost is called again when it has had time to cool down. Confined to the coordinator's thread.
 */
final class Links implements AutoCloseable {
    private final List<Agent> agents = new ArrayList<>();
    private final List<AgentLink> links = new ArrayList<>();
    private final Map<Integer, Long> recallNanos = new TreeMap<>();
    private final Set<Integer> given = new HashSet<>();
    private final Heartbeats heartbeats = Heartbeats.start();
    private final Consumer<Mail> mailbox;
    private final LongSupplier nanoTime;
    private final IntFunction<ToAgent> greeting;
    private final long coolDownNanos;

    /**
     * @param greeting opens the job on the agent with this id
     * @param coolDownNanos after which a lost agent is called again; negative: never
     */
    Links(Consumer<Mail> mailbox, LongSupplier nanoTime, IntFunction<ToAgent> greeting, long coolDownNanos) {
        this.mailbox = mailbox;
        this.nanoTime = nanoTime;
        this.greeting = greeting;
        this.coolDownNanos = coolDownNanos;
    }

    /** Opens the job on an agent. */
    void call(Agent agent) {
        int id = agents.size();
        agents.add(agent);
        links.add(AgentLink.open(id, agent.channel(), mailbox));
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

    AgentLink get(int id) {
        return links.get(id);
    }

    void send(int id, ToAgent message) {
        links.get(id).send(message);
    }

    /** How many there are, also those that are lost. */
    int count() {
        return links.size();
    }

    void sendAll(ToAgent message) {
        links.forEach(link -> link.send(message));
    }

    /** The agent has opened the job. */
    void opened(int id) {
        if (!where(id).isEmpty()) {
            heartbeats.watch(links.get(id));
        }
    }

    /** The agent is gone; it is called again if that makes sense. */
    void broken(int id) {
        boolean callable =
                agents.get(id).channel() instanceof ManagedChannel && !where(id).isEmpty();
        if (coolDownNanos >= 0 && callable && !given.contains(id)) {
            recallNanos.put(id, nanoTime.getAsLong() + coolDownNanos);
        }
    }

    /** Calls those again whose time has come. */
    void recall() {
        long now = nanoTime.getAsLong();
        List<Integer> due = recallNanos.entrySet().stream()
                .filter(entry -> now - entry.getValue() >= 0)
                .map(Map.Entry::getKey)
                .toList();
        for (int id : due) {
            recallNanos.remove(id);
            if (agents.get(id).channel() instanceof ManagedChannel channel) {
                channel.resetConnectBackoff();
            }
            links.set(id, AgentLink.open(id, agents.get(id).channel(), mailbox));
            send(id, greeting.apply(id));
        }
    }

    /** Ends the job there, and does not call again. */
    void giveUp(int id, String why) {
        given.add(id);
        recallNanos.remove(id);
        links.get(id).breakOff(why);
    }

    @Override
    public void close() {
        heartbeats.close();
        links.forEach(AgentLink::close);
    }
}
