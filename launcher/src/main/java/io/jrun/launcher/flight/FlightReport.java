package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.RankRanges;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.json.JsonLine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/** The report about the dumps of a job's ranks, as text and as JSON. */
public final class FlightReport {
    private static final double NANOS_PER_SECOND = 1e9;

    private final DumpFolder folder;
    private final List<Mismatch> findings;
    private final LastArrivalReport arrivals;

    /** Matches the dumps. */
    public FlightReport(DumpFolder folder) {
        this.folder = folder;
        this.findings = OperationMatcher.of(folder.dumps());
        this.arrivals = new LastArrivalReport(folder.dumps());
    }

    /** The findings in words with a table each, the late ranks, and the reason of each dump. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        int worldSize = folder.dumps().getFirst().worldSize();
        lines.add("dumps of " + folder.dumps().size() + " of " + worldSize + " ranks in " + folder.folder());
        if (!folder.missing().isEmpty()) {
            lines.add("no dump of " + RankRanges.withNoun(new TreeSet<>(folder.missing())));
        }
        if (findings.isEmpty()) {
            lines.add("the dumps show no mismatch: no rank waited for another rank, and all recorded calls agree");
        }
        for (Mismatch finding : findings) {
            lines.add("");
            lines.add(title(finding) + ": " + finding.text());
            lines.addAll(table(finding));
        }
        lines.addAll(arrivals.lines());
        lines.add("");
        lines.add("why each rank has dumped:");
        folder.dumps().forEach(dump -> lines.add("%4d  %s".formatted(dump.rank(), firstLine(dump.reason()))));
        return lines;
    }

    /** The report as one JSON object. */
    public String json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("folder", folder.folder().toString());
        json.put("worldSize", folder.dumps().getFirst().worldSize());
        json.put("missing", folder.missing());
        json.put("findings", findings.stream().map(FlightReport::json).toList());
        arrivals.addTo(json);
        json.put("dumps", folder.dumps().stream().map(FlightReport::json).toList());
        return JsonLine.of(json);
    }

    private static String title(Mismatch finding) {
        return switch (finding.kind()) {
                    case MISMATCH -> "different calls";
                    case LATE -> "late";
                    case STUCK -> "stuck";
                }
                + " on group " + finding.group() + " at operation #" + finding.sequence();
    }

    private static List<String> table(Mismatch finding) {
        int hostWidth = finding.places().stream()
                .mapToInt(place -> place.host().length())
                .reduce(4, Math::max);
        String format = "%4s  %-" + hostWidth + "s  %-9s  %8s  %s";
        List<String> lines = new ArrayList<>();
        lines.add(format.formatted("RANK", "HOST", "STATE", "SECONDS", "OPERATION"));
        for (Mismatch.RankPlace place : finding.places()) {
            lines.add(format.formatted(
                            place.rank(),
                            place.host().isEmpty() ? "-" : place.host(),
                            state(place),
                            place.operation().map(FlightReport::seconds).orElse("-"),
                            place.operation().map(OperationRecord::call).orElse("-"))
                    .stripTrailing());
        }
        return lines;
    }

    private static String state(Mismatch.RankPlace place) {
        String none = place.host().isEmpty() ? "no dump" : "-";
        return place.operation().map(FlightReport::state).orElse(none);
    }

    private static String state(OperationRecord operation) {
        return operation.state().label();
    }

    private static String seconds(OperationRecord operation) {
        return operation.ranNanos() == 0
                ? "-"
                : String.format(Locale.ROOT, "%.3f", operation.ranNanos() / NANOS_PER_SECOND);
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }

    private static Map<String, Object> json(Mismatch finding) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("kind", finding.kind().name().toLowerCase(Locale.ROOT));
        json.put("group", finding.group());
        json.put("sequence", finding.sequence());
        json.put("guilty", finding.guilty());
        json.put("text", finding.text());
        json.put("ranks", finding.places().stream().map(FlightReport::json).toList());
        return json;
    }

    private static Map<String, Object> json(Mismatch.RankPlace place) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", place.rank());
        json.put("place", place.words());
        place.operation().ifPresent(operation -> {
            json.put("operation", operation.call());
            json.put("sequence", operation.sequence());
            json.put("state", state(operation));
            if (operation.ranNanos() != 0) {
                json.put("seconds", operation.ranNanos() / NANOS_PER_SECOND);
            }
        });
        return json;
    }

    private static Map<String, Object> json(RankRecord dump) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", dump.rank());
        json.put("host", dump.host());
        json.put("pid", dump.pid());
        json.put("reason", dump.reason());
        return json;
    }
}
