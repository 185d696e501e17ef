package io.jrun.launcher.trace;

import io.jrun.comm.record.RankRanges;
import io.jrun.comm.timeline.Timeline;
import io.jrun.comm.timeline.TimelineEntry;
import io.jrun.comm.timeline.TimelineFile;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.view.JobTimelines;
import io.jrun.launcher.view.JobView;
import java.io.IOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/** Makes one trace of the timelines of a job's ranks. Stateless. */
public final class TraceCommand {
    /** A rank has some megabytes of text; more ranks make a file that no viewer opens. */
    private static final int MOST_RANKS = 256;

    private static final double NANOS_PER_MILLI = 1e6;

    private TraceCommand() {}

    /**
     * Writes the trace of the last round of a job. A rank whose clock was not measured is left out, because its times
     * cannot be compared with those of other ranks.
     *
     * @param notices receives a line for the clock of each host, and for ranks that are left out
     * @throws UsageException with one line if there is no rank to write
     */
    public static void write(JobView view, Writer out, Consumer<String> notices) throws IOException {
        JobTimelines.request(view);
        JobTimelines timelines = JobTimelines.read(view, MOST_RANKS);
        Map<String, HostClock> clocks = new TreeMap<>();
        view.facts().clocks().forEach((host, measured) -> clocks.put(host, new HostClock(host, measured)));
        reportMissing(timelines, notices);
        Map<Integer, List<ChromeTrace.Slice>> ranks = new TreeMap<>();
        TreeSet<Integer> refused = new TreeSet<>();
        timelines.ranks().forEach((rank, timeline) -> {
            HostClock clock = clocks.get(timelines.hosts().get(rank));
            if (clock == null) {
                refused.add(rank);
            } else {
                ranks.put(rank, slices(timeline, clock));
            }
        });
        if (!refused.isEmpty()) {
            notices.accept(RankRanges.withNoun(refused) + ": left out, because the clock of "
                    + timelines.hosts().get(refused.first()) + " was not measured");
        }
        if (ranks.values().stream().allMatch(List::isEmpty)) {
            throw new UsageException("trace: " + view.name() + " has no timeline to show"
                    + (timelines.missing().isEmpty() ? "." : ": " + firstReason(timelines) + "."));
        }
        Map<String, Object> used = new LinkedHashMap<>();
        clocks.forEach((host, clock) -> {
            if (timelines.hosts().containsValue(host)) {
                notices.accept(clock.words());
                used.put(host, Map.of("error_ms", clock.errorNanos() / NANOS_PER_MILLI, "clock", clock.words()));
            }
        });
        write(view, out, timelines, ranks, used);
    }

    private static void write(
            JobView view,
            Writer out,
            JobTimelines timelines,
            Map<Integer, List<ChromeTrace.Slice>> ranks,
            Map<String, Object> clocks)
            throws IOException {
        long origin = ranks.values().stream()
                .flatMap(List::stream)
                .mapToLong(ChromeTrace.Slice::beginNanos)
                .min()
                .orElseThrow();
        ChromeTrace trace = new ChromeTrace(out, origin);
        trace.begin();
        for (Map.Entry<Integer, List<ChromeTrace.Slice>> rank : ranks.entrySet()) {
            TimelineFile timeline = Objects.requireNonNull(timelines.ranks().get(rank.getKey()));
            String host = timelines.hosts().getOrDefault(rank.getKey(), "");
            trace.add(rank.getKey(), host, rank.getValue(), timeline.lost() == 0);
        }
        Map<String, Object> other = new LinkedHashMap<>();
        other.put("job", view.name());
        other.put("round", view.facts().round());
        other.put("clocks", clocks);
        trace.end(other);
    }

    private static void reportMissing(JobTimelines timelines, Consumer<String> notices) {
        Map<String, TreeSet<Integer>> byReason = new TreeMap<>();
        timelines
                .missing()
                .forEach((rank, reason) ->
                        byReason.computeIfAbsent(reason, _ -> new TreeSet<>()).add(rank));
        byReason.forEach((reason, ranks) -> notices.accept(RankRanges.withNoun(ranks) + ": left out: " + reason));
        if (timelines.ranks().values().stream().limit(1).anyMatch(first -> first.lost() > 0)) {
            notices.accept("only the last steps are in the timelines; --trace keeps all");
        }
    }

    private static String firstReason(JobTimelines timelines) {
        Map.Entry<Integer, String> first =
                timelines.missing().entrySet().iterator().next();
        return "rank " + first.getKey() + ": " + first.getValue();
    }

    private static boolean isStep(TimelineEntry entry) {
        return entry.kind() == TimelineEntry.Kind.SPAN && entry.name().equals(ChromeTrace.STEP);
    }

    private static List<ChromeTrace.Slice> slices(TimelineFile timeline, HostClock clock) {
        boolean hasSteps = timeline.entries().stream().anyMatch(TraceCommand::isStep);
        long last = timeline.entries().stream()
                .mapToLong(entry -> Math.max(entry.beginNanos(), entry.endNanos()))
                .max()
                .orElse(0);
        List<ChromeTrace.Slice> slices = new ArrayList<>();
        for (TimelineEntry entry : timeline.entries()) {
            if (hasSteps && entry.name().equals(Timeline.MODEL_STEP)) {
                continue; // The program has numbered its steps itself.
            }
            long end = entry.endNanos() == 0 ? last : entry.endNanos();
            slices.add(new ChromeTrace.Slice(entry, clock.launcherNanos(entry.beginNanos()), clock.launcherNanos(end)));
        }
        return slices;
    }
}
