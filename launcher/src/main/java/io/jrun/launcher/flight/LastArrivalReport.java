package io.jrun.launcher.flight;

import io.jrun.comm.record.RankRecord;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The late ranks of a job's collectives, for people and for machines. */
final class LastArrivalReport {
    /** The number of waits in the table. The JSON has all waits. */
    private static final int MOST_SHOWN = 10;

    private static final double NANOS_PER_SECOND = 1e9;
    private static final double NANOS_PER_MILLI = 1e6;

    private final List<LastArrival> arrivals;
    private final List<LastArrival.Late> late;

    LastArrivalReport(List<RankRecord> dumps) {
        this.arrivals = LastArrival.of(dumps);
        this.late = LastArrival.byRank(arrivals);
    }

    /** Two tables; empty if no rank has waited. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (arrivals.isEmpty()) {
            return lines;
        }
        lines.add("");
        lines.add("late ranks of the " + arrivals.size() + " collectives in which a rank waited:");
        lines.add("RANK    LAST   SECONDS   MEDIAN MS      MAX MS");
        for (LastArrival.Late rank : late) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%4d  %6d  %8.3f  %10.3f  %10.3f",
                    rank.rank(),
                    rank.count(),
                    rank.totalNanos() / NANOS_PER_SECOND,
                    rank.medianNanos() / NANOS_PER_MILLI,
                    rank.maxNanos() / NANOS_PER_MILLI));
        }
        lines.add("the longest waits:");
        lines.add("LATE       BY MS  OPERATION");
        for (LastArrival arrival : arrivals.subList(0, Math.min(MOST_SHOWN, arrivals.size()))) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%4d  %10.3f  %s on group %s",
                    arrival.rank(),
                    arrival.lagNanos() / NANOS_PER_MILLI,
                    arrival.call(),
                    arrival.group()));
        }
        return lines;
    }

    /** Adds the late ranks and all collectives in which a rank has waited. */
    void addTo(Map<String, Object> json) {
        json.put("lateRanks", late.stream().map(LastArrivalReport::json).toList());
        json.put("arrivals", arrivals.stream().map(LastArrivalReport::json).toList());
    }

    private static Map<String, Object> json(LastArrival.Late rank) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", rank.rank());
        json.put("last", rank.count());
        json.put("seconds", rank.totalNanos() / NANOS_PER_SECOND);
        json.put("medianSeconds", rank.medianNanos() / NANOS_PER_SECOND);
        json.put("maxSeconds", rank.maxNanos() / NANOS_PER_SECOND);
        return json;
    }

    private static Map<String, Object> json(LastArrival arrival) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("group", arrival.group());
        json.put("sequence", arrival.sequence());
        json.put("operation", arrival.call());
        json.put("lateRank", arrival.rank());
        json.put("lagSeconds", arrival.lagNanos() / NANOS_PER_SECOND);
        List<Map<String, Object>> waits = new ArrayList<>();
        arrival.waited().forEach((rank, operation) -> {
            Map<String, Object> wait = new LinkedHashMap<>();
            wait.put("rank", rank);
            wait.put("for", operation.lateRank());
            wait.put("seconds", operation.lateNanos() / NANOS_PER_SECOND);
            waits.add(wait);
        });
        json.put("waits", waits);
        return json;
    }
}
