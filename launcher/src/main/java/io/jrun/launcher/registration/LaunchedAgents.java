package io.jrun.launcher.registration;

import io.jrun.launcher.coordinator.Agent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * The agents of one job on hosts where none stood: called by a {@link AgentLauncher}, each arrives by itself while the
 * coordinator already waits for it. One that was lost is called again when the coordinator calls again. Thread-safe.
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
     * Calls an agent to each host; returns at once.
     *
     * @param hosts by node rank, as the user named them
     * @param random 32 bytes, for this job alone
     * @param version jrun's; agents of another one are refused
     * @param notices takes sentences for the user
     */
    public static LaunchedAgents call(
            List<String> hosts, AgentLauncher agentLauncher, byte[] random, String version, Consumer<String> notices)
            throws IOException {
        JoinToken unaddressed = JoinToken.to(List.of(), random);
        AgentRegistry arrivals =
                AgentRegistry.listen(new InetSocketAddress(0), unaddressed.agentSecret(), version, "", notices);
        JoinToken invitation = JoinToken.to(LauncherAddresses.withPort(arrivals.port()), random);
        List<AgentSlot> places = new ArrayList<>();
        for (int node = 0; node < hosts.size(); node++) {
            places.add(arrivals.expect(JoinToken.node(node), hosts.get(node)));
        }
        AgentLaunchProcesses starts = new AgentLaunchProcesses(agentLauncher, hosts, invitation, places, notices);
        for (int node = 0; node < hosts.size(); node++) {
            List<Integer> again = List.of(node);
            places.get(node).onReconnect(() -> starts.begin(again));
        }
        starts.begin(IntStream.range(0, hosts.size()).boxed().toList());
        return new LaunchedAgents(arrivals, starts, places);
    }

    /** By node rank; some may not have arrived yet, and some never will. */
    public List<Agent> agents() {
        return places.stream().map(AgentSlot::agent).toList();
    }

    /** Ends the agents and waits, some seconds at most, until what started them has ended too. */
    @Override
    public void close() {
        arrivals.close();
        starts.close();
    }
}
