package io.jrun.launcher.registration;

import io.jrun.launcher.coordinator.Agent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * The agents that an {@link AgentLauncher} starts for one job. Each agent connects while the coordinator waits for it.
 * A lost agent is started again when the coordinator connects again. Thread-safe.
 */
public final class LaunchedAgents implements AutoCloseable {
    private final AgentRegistry arrivals;
    private final AgentLaunchProcesses starts;
    private final List<AgentSlot> places;

    private LaunchedAgents(AgentRegistry arrivals, AgentLaunchProcesses starts, List<AgentSlot> places) {
        this.arrivals = arrivals;
        this.starts = starts;
        this.places = places;
    }

    /**
     * Starts an agent on each host; returns at once.
     *
     * @param hosts by node rank, as the user named them
     * @param random 32 random bytes of this job
     * @param version of jrun; agents of another version are refused
     * @param notices receives messages for the user
     */
    public static LaunchedAgents call(
            List<String> hosts, AgentLauncher agentLauncher, byte[] random, String version, Consumer<String> notices)
            throws IOException {
        JoinToken unaddressed = JoinToken.to(List.of(), random);
        AgentRegistry arrivals =
                AgentRegistry.listen(new InetSocketAddress(0), unaddressed.agentSecret(), version, "", notices);
        JoinToken joinToken = JoinToken.to(LauncherAddresses.withPort(arrivals.port()), random);
        List<AgentSlot> places = new ArrayList<>();
        for (int node = 0; node < hosts.size(); node++) {
            places.add(arrivals.expect(JoinToken.node(node), hosts.get(node)));
        }
        AgentLaunchProcesses starts = new AgentLaunchProcesses(agentLauncher, hosts, joinToken, places, notices);
        for (int node = 0; node < hosts.size(); node++) {
            List<Integer> again = List.of(node);
            places.get(node).onReconnect(() -> starts.begin(again));
        }
        starts.begin(IntStream.range(0, hosts.size()).boxed().toList());
        return new LaunchedAgents(arrivals, starts, places);
    }

    /** The agents, by node rank. An agent need not have arrived, and may never arrive. */
    public List<Agent> agents() {
        return places.stream().map(AgentSlot::agent).toList();
    }

    /** Ends the agents and waits a few seconds at most for the processes that started them. */
    @Override
    public void close() {
        arrivals.close();
        starts.close();
    }
}
