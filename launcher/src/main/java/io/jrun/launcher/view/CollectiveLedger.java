package io.jrun.launcher.view;

import io.jrun.comm.timeline.TimelineEntry;
import io.jrun.comm.timeline.TimelineEntry.Kind;
import io.jrun.comm.timeline.TimelineEntry.State;
import io.jrun.comm.timeline.TimelineFile;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * How far each rank is in the collectives of each group, from the timelines: who is inside, who is missing, and for whom
 * a rank has waited. Stateless.
 */
public final class CollectiveLedger {
    /** Reading a timeline takes milliseconds. */
    private static final int MOST_RANKS = 64;

    private static final double NANOS = 1e9;

    private CollectiveLedger() {}

    private static final class Sums {
        private long waitedNanos;
        private final Map<Integer, Long> byLate = new TreeMap<>();
        private TimelineEntry last;

        Sums(TimelineEntry first) {
            last = first;
        }

        void add(TimelineEntry entry) {
            if (entry.number() >= last.number()) {
                last = entry;
            }
            if (entry.lateRank() >= 0) {
                waitedNanos += entry.lateNanos();
                byLate.merge(entry.lateRank(), entry.lateNanos(), Long::sum);
            }
        }
    }

    /**
     * The ledger as JSON: {@code groups[]} with {@code name}, {@code ranks[]}: {@code rank}, {@code sequence},
     * {@code operation}, {@code state}, {@code waitedSeconds}, {@code waitedFor}. {@code missing} says why a rank has no
     * row.
     */
    public static Map<String, Object> json(JobView view) {
        JobTimelines timelines = JobTimelines.read(view, MOST_RANKS);
        Map<String, Map<Integer, Sums>> groups = new LinkedHashMap<>();
        timelines.ranks().forEach((rank, timeline) -> add(rank, timeline, groups));
        List<Object> shown = new ArrayList<>();
        groups.forEach(
                (name, ranks) -> shown.add(Map.of("name", name.replace("|", " of ranks "), "ranks", rows(ranks))));
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("groups", shown);
        json.put("missing", timelines.missing());
        return json;
    }

    private static void add(int rank, TimelineFile timeline, Map<String, Map<Integer, Sums>> groups) {
        for (TimelineEntry entry : timeline.entries()) {
            if (entry.kind() == Kind.COLLECTIVE) {
                groups.computeIfAbsent(entry.group(), _ -> new TreeMap<>())
                        .computeIfAbsent(rank, _ -> new Sums(entry))
                        .add(entry);
            }
        }
    }

    private static List<Object> rows(Map<Integer, Sums> ranks) {
        long furthest = ranks.values().stream()
                .mapToLong(sums -> sums.last.number())
                .max()
                .orElse(0);
        List<Object> rows = new ArrayList<>();
        ranks.forEach((rank, sums) -> {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("rank", rank);
            row.put("sequence", sums.last.number());
            row.put("behind", furthest - sums.last.number());
            row.put("operation", sums.last.name());
            row.put("bytes", sums.last.bytes());
            row.put("state", state(sums.last.state()));
            row.put("waitedSeconds", sums.waitedNanos / NANOS);
            sums.byLate.entrySet().stream()
                    .max(Map.Entry.comparingByValue())
                    .ifPresent(most -> row.put("waitedFor", most.getKey()));
            rows.add(row);
        });
        return rows;
    }

    private static String state(State state) {
        return switch (state) {
            case RUNNING -> "inside";
            case COMPLETED -> "completed";
            case FAILED -> "failed";
        };
    }
}
