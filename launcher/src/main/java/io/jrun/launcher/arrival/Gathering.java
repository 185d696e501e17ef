package io.jrun.launcher.arrival;

import io.jrun.launcher.coordinator.Agent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The agents of one job on hosts where none stood: called by a {@link Bootstrap}, each arrives by itself while the coordinator
 * already waits for it. Thread-safe.
 */
public final class Gathering implements AutoCloseable {
    private final Arrivals arrivals;
    private final Starts starts;
    private final List<Arrival> places;

    private Gathering(Arrivals arrivals, Starts starts, List<Arrival> places) {
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
     * @param say takes sentences for the user
     */
    public static Gathering call(
            List<String> hosts, Bootstrap bootstrap, byte[] random, String version, Consumer<String> say)
            throws IOException {
        Invitation unaddressed = Invitation.to(List.of(), random);
        Arrivals arrivals = Arrivals.listen(new InetSocketAddress(0), unaddressed.agentSecret(), version, "", say);
        Invitation invitation = Invitation.to(HomeAddresses.withPort(arrivals.port()), random);
        List<Arrival> places = new ArrayList<>();
        for (int node = 0; node < hosts.size(); node++) {
            places.add(arrivals.expect(Invitation.node(node), hosts.get(node)));
        }
        Starts starts = new Starts(bootstrap, invitation, places, say);
        starts.begin(bootstrap.plan(hosts, invitation));
        return new Gathering(arrivals, starts, places);
    }

    /** By node rank; some may not have arrived yet, and some never will. */
    public List<Agent> agents() {
        return places.stream().map(Arrival::agent).toList();
    }

    /** Ends the agents and waits, some seconds at most, until what started them has ended too. */
    @Override
    public void close() {
        arrivals.close();
        starts.close();
    }
}
