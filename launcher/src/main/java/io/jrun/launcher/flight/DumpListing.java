package io.jrun.launcher.flight;

import io.jrun.comm.RankLag;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.json.JsonLine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The whole dump of one rank, as text and as JSON. Times count back from the dump. */
public final class DumpListing {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final String FORMAT = "%-10s  %11s  %11s  %11s  %9s  %s";

    private final RankRecord dump;

    /** The listing of one dump. */
    public DumpListing(RankRecord dump) {
        this.dump = dump;
    }

    /** A line about the rank, a line for each group, and a table of the operations. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("rank " + dump.rank() + " of " + dump.worldSize() + ", host " + dump.host() + ", pid " + dump.pid()
                + ", round " + dump.round());
        lines.add("reason: " + dump.reason().lines().findFirst().orElse(""));
        for (GroupRecord group : dump.groups()) {
            lines.add("group " + group.name() + " of ranks " + group.ranks() + ": " + group.started()
                    + " collectives started, " + group.completed() + " completed, " + seconds(group.waitedNanos())
                    + " s waited for other ranks");
        }
        lines.add("the operations, with times in seconds before the dump:");
        lines.add(FORMAT.formatted("STATE", "CALLED", "STARTED", "ENDED", "LATE RANK", "OPERATION"));
        dump.operations().forEach(operation -> lines.add(line(operation)));
        return lines;
    }

    private String line(OperationRecord operation) {
        return FORMAT.formatted(
                operation.state().label(),
                seconds(operation.queuedAgoNanos()),
                seconds(operation.startedAgoNanos()),
                seconds(operation.endedAgoNanos()),
                operation.hasWaited() ? Integer.toString(operation.lateRank()) : "-",
                operation.call() + " on " + dump.label(operation.group()));
    }

    private static String seconds(long nanos) {
        return nanos == OperationRecord.NEVER ? "-" : String.format(Locale.ROOT, "%.6f", nanos / NANOS_PER_SECOND);
    }

    /** The listing as one JSON object. */
    public String json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", dump.rank());
        json.put("worldSize", dump.worldSize());
        json.put("host", dump.host());
        json.put("pid", dump.pid());
        json.put("round", dump.round());
        json.put("time", dump.takenMillis() / 1e3);
        json.put("reason", dump.reason());
        json.put("groups", dump.groups().stream().map(DumpListing::json).toList());
        json.put("operations", dump.operations().stream().map(DumpListing::json).toList());
        return JsonLine.of(json);
    }

    private static Map<String, Object> json(GroupRecord group) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("group", group.name());
        json.put("ranks", group.ranks());
        json.put("started", group.started());
        json.put("completed", group.completed());
        json.put("waitedSeconds", group.waitedNanos() / NANOS_PER_SECOND);
        json.put("lags", group.lags().stream().map(DumpListing::json).toList());
        return json;
    }

    private static Map<String, Object> json(RankLag lag) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", lag.rank());
        json.put("last", lag.count());
        json.put("seconds", lag.total().toNanos() / NANOS_PER_SECOND);
        json.put("medianSeconds", lag.median().toNanos() / NANOS_PER_SECOND);
        json.put("p95Seconds", lag.p95().toNanos() / NANOS_PER_SECOND);
        json.put("maxSeconds", lag.max().toNanos() / NANOS_PER_SECOND);
        return json;
    }

    private static Map<String, Object> json(OperationRecord operation) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("group", operation.group());
        json.put("sequence", operation.sequence());
        json.put("operation", operation.call());
        json.put("state", operation.state().label());
        putSeconds(json, "calledSeconds", operation.queuedAgoNanos());
        putSeconds(json, "startedSeconds", operation.startedAgoNanos());
        putSeconds(json, "endedSeconds", operation.endedAgoNanos());
        if (operation.hasWaited()) {
            json.put("lateRank", operation.lateRank());
            putSeconds(json, "lateSeconds", operation.lateNanos());
        }
        return json;
    }

    private static void putSeconds(Map<String, Object> json, String name, long nanos) {
        if (nanos != OperationRecord.NEVER) {
            json.put(name, nanos / NANOS_PER_SECOND);
        }
    }
}
