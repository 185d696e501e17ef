package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Sends to all nodes which ranks have left. At the end of a job all ranks leave at once, and one message for each rank
 * to each node would be too many. Departures during a transmission are therefore sent together in the next message.
 * Confined to the coordinator's thread.
 */
final class RankDepartures {
    /** Pause after a message, for each node: about the time for sending to one node. */
    private static final long PAUSE_NANOS_PER_NODE = 50_000;

    private final LongSupplier nanoTime;
    private final Consumer<ControlRequest> toAll;
    private final Map<String, List<Integer>> ranksByHow = new LinkedHashMap<>();
    private int round;
    private long nextNanos;

    /** @param toAll sends to all nodes */
    RankDepartures(LongSupplier nanoTime, Consumer<ControlRequest> toAll) {
        this.nanoTime = nanoTime;
        this.toAll = toAll;
        this.nextNanos = nanoTime.getAsLong();
    }

    /** Adds a rank that has left, for the next message. */
    void add(int number, int rank, String how) {
        if (number != round) {
            ranksByHow.clear();
            round = number;
        }
        ranksByHow.computeIfAbsent(how, _ -> new ArrayList<>()).add(rank);
    }

    /** Nanoseconds until the next message is due; {@code Long.MAX_VALUE} without departures. */
    long nanosLeft() {
        return ranksByHow.isEmpty() ? Long.MAX_VALUE : Math.max(0, nextNanos - nanoTime.getAsLong());
    }

    /** Sends the departures if the pause has passed. */
    void sendDue(int nodes) {
        if (nanosLeft() == 0) {
            sendNow(nodes);
        }
    }

    /** Sends the departures now. Called before each other message to all nodes, to keep the order. */
    void sendNow(int nodes) {
        if (!ranksByHow.isEmpty()) {
            ranksByHow.forEach((how, ranks) -> toAll.accept(AgentMessages.rankLeft(round, ranks, how)));
            ranksByHow.clear();
            nextNanos = nanoTime.getAsLong() + nodes * PAUSE_NANOS_PER_NODE;
        }
    }
}
