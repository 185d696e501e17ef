package io.jrun.launcher.trace;

import io.jrun.comm.timeline.TimelineEntry;
import io.jrun.comm.timeline.TimelineEntry.State;
import io.jrun.launcher.trace.ChromeTrace.Arrow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Finds the receive of each send. Messages of one tag between two ranks of a group do not overtake each other, so the
 * Nth send belongs to the Nth receive. If the first messages of a rank are not kept, only a send and a receive of equal
 * numbers are a pair. A receive from any rank has no pair. Confined to one thread.
 */
final class MessageArrows {
    private static final String SEND = "send";

    /** The messages of one tag from a rank to another. */
    private record Stream(String group, int from, int to, int tag) {
        String text() {
            return group + " " + from + ">" + to + " tag " + tag;
        }
    }

    private record Side(long number, Arrow arrow) {}

    private record Sides(List<Side> sends, List<Side> receives) {}

    /** A message between two ranks. */
    record Message(String id, Arrow send, Arrow receive) {}

    private final Map<Stream, Sides> streams = new TreeMap<>(Comparator.comparing(Stream::text));
    private final Set<Integer> incomplete = new HashSet<>();

    /** The timeline of the rank does not begin with its first message. */
    void lacksFirst(int rank) {
        incomplete.add(rank);
    }

    /** Adds a message of the rank of the arrow. */
    void add(TimelineEntry entry, Arrow arrow) {
        if (entry.peer() < 0 || entry.state() == State.FAILED) {
            return;
        }
        boolean isSend = entry.name().equals(SEND);
        Stream stream = new Stream(
                entry.group(), isSend ? arrow.rank() : entry.peer(), isSend ? entry.peer() : arrow.rank(), entry.tag());
        Sides sides = streams.computeIfAbsent(stream, _ -> new Sides(new ArrayList<>(), new ArrayList<>()));
        (isSend ? sides.sends() : sides.receives()).add(new Side(entry.number(), arrow));
    }

    /** All pairs. */
    List<Message> matched() {
        List<Message> matched = new ArrayList<>();
        streams.forEach((stream, sides) -> {
            boolean isWhole = !incomplete.contains(stream.from()) && !incomplete.contains(stream.to());
            Map<Long, Arrow> receives = numbered(sides.receives(), isWhole);
            numbered(sides.sends(), isWhole).forEach((number, send) -> {
                Arrow receive = receives.get(number);
                if (receive != null) {
                    matched.add(new Message(stream.text() + " #" + number, send, receive));
                }
            });
        });
        return matched;
    }

    /** The messages by their number: among those of the stream, or among all between the two ranks. */
    private static Map<Long, Arrow> numbered(List<Side> sides, boolean isWhole) {
        if (!isWhole) {
            return sides.stream()
                    .collect(Collectors.toMap(Side::number, Side::arrow, (first, _) -> first, TreeMap::new));
        }
        List<Side> sorted =
                sides.stream().sorted(Comparator.comparingLong(Side::number)).toList();
        Map<Long, Arrow> numbered = new TreeMap<>();
        for (int index = 0; index < sorted.size(); index++) {
            numbered.put((long) index, sorted.get(index).arrow());
        }
        return numbered;
    }
}
