package io.jrun.launcher.arrival;

import io.jrun.launcher.coordinator.Agent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * The agents of one job on hosts where none stood: called by a {@link Bootstrap}, each arrives by itself while the coordinator
 * already waits for it. One that was lost is called again when the coordinator calls again. Thread-safe.
 */
public final class Gathering implements AutoCloseable {
    private final Arrivals arrivals;
    private final Starts starts;
    private final List<Place> places;

    private Gathering(Arrivals arrivals, Starts starts, List<Place> places) {
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
        List<Place> places = new ArrayList<>();
        for (int node = 0; node < hosts.size(); node++) {
            places.add(arrivals.expect(Invitation.node(node), hosts.get(node)));
        }
        Starts starts = new Starts(bootstrap, hosts, invitation, places, say);
        for (int node = 0; node < hosts.size(); node++) {
            List<Integer> again = List.of(node);
            places.get(node).onRecall(() -> starts.begin(again));
        }
        starts.begin(IntStream.range(0, hosts.size()).boxed().toList());
        return new Gathering(arrivals, starts, places);
    }

    /** By node rank; some may not have arrived yet, and some never will. */
    public List<Agent> agents() {
        return places.stream().map(Place::agent).toList();
    }

    /** Ends the agents and waits, some seconds at most, until what started them has ended too. */
    @Override
    public void close() {
        arrivals.close();
        starts.close();
    }
}
