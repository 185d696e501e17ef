package io.jrun.launcher.trace;

import io.jrun.comm.timeline.Timeline;
import io.jrun.comm.timeline.TimelineEntry;
import io.jrun.comm.timeline.TimelineEntry.Kind;
import io.jrun.comm.timeline.TimelineEntry.State;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Writes a trace in the Chrome trace event format: a process for each rank, a thread for the steps and for each group,
 * a slice for each span and operation, a slice inside it for the wait for another rank, and arrows: in a collective from
 * the rank that came last to the others, and from the send of a message to its receive. Times are microseconds from the first begin. Confined to one thread.
 */
final class ChromeTrace {
    /** The span of a whole step. */
    static final String STEP = "step";

    private static final double NANOS_PER_MICRO = 1000.0;

    /** The steps of the training. */
    private static final String STEPS = "steps";

    /** A wait for a batch, numbered by the batches of its loader. */
    private static final String DATA_WAIT = "data wait";

    /** Copies of the state for checkpoints, and their files. A save in the background overlaps with steps. */
    private static final String CHECKPOINTS = "checkpoints";

    private static final Set<String> CHECKPOINT_SPANS = Set.of("save", "snapshot");

    private final Writer out;
    private final long originNanos;
    private final Map<String, List<Arrow>> collectives = new TreeMap<>();
    private final MessageArrows messages = new MessageArrows();
    private long events;

    /** An end of an arrow: a slice of a rank. */
    record Arrow(int rank, int thread, long beginNanos, long endNanos) {}

    /** An entry with times on the launcher's clock. */
    record Slice(TimelineEntry entry, long beginNanos, long endNanos) {}

    /** @param originNanos the time 0 of the trace, on the launcher's clock */
    ChromeTrace(Writer out, long originNanos) {
        this.out = out;
        this.originNanos = originNanos;
    }

    /** Writes the beginning. */
    void begin() throws IOException {
        out.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    }

    /**
     * Writes a rank.
     *
     * @param isWhole whether the slices are all of the rank, or the last ones
     */
    void add(int rank, String host, List<Slice> slices, boolean isWhole) throws IOException {
        if (!isWhole) {
            messages.lacksFirst(rank);
        }
        put(metadata("process_name", rank, 0, "name", "rank " + rank + " (" + host + ")"));
        put(metadata("process_sort_index", rank, 0, "sort_index", rank));
        Map<String, List<Slice>> tracks = new LinkedHashMap<>();
        tracks.put(STEPS, new ArrayList<>());
        for (Slice slice : slices) {
            tracks.computeIfAbsent(track(slice.entry()), _ -> new ArrayList<>()).add(slice);
        }
        int thread = 0;
        for (Map.Entry<String, List<Slice>> track : tracks.entrySet()) {
            thread = add(rank, thread, track.getKey(), track.getValue());
        }
    }

    private static String track(TimelineEntry entry) {
        return switch (entry.kind()) {
            case SPAN -> CHECKPOINT_SPANS.contains(entry.name()) ? CHECKPOINTS : STEPS;
            case COLLECTIVE -> "group " + entry.groupName();
            case MESSAGE -> "messages of " + entry.groupName();
        };
    }

    /** Returns the number of the next thread. */
    private int add(int rank, int firstThread, String name, List<Slice> slices) throws IOException {
        slices.sort(
                Comparator.comparingLong(Slice::beginNanos).thenComparing(Slice::endNanos, Comparator.reverseOrder()));
        Lanes lanes = new Lanes();
        int threads = 0;
        for (Slice slice : slices) {
            int lane = lanes.take(slice.beginNanos(), slice.endNanos());
            for (; threads <= lane; threads++) {
                put(metadata("thread_name", rank, firstThread + threads, "name", name));
                put(metadata("thread_sort_index", rank, firstThread + threads, "sort_index", firstThread + threads));
            }
            put(rank, firstThread + lane, slice);
        }
        return firstThread + threads;
    }

    private static Map<String, Object> metadata(String name, int rank, int thread, String field, Object value) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ph", "M");
        json.put("name", name);
        json.put("pid", rank);
        json.put("tid", thread);
        json.put("args", Map.of(field, value));
        return json;
    }

    private void put(int rank, int thread, Slice slice) throws IOException {
        TimelineEntry entry = slice.entry();
        boolean isSpan = entry.kind() == Kind.SPAN;
        String label = entry.name().isEmpty() ? "?" : entry.name();
        Map<String, Object> json = slice(
                isSpan && isStep(label) ? "step " + entry.number() : label,
                isSpan ? "step" : "comm",
                rank,
                thread,
                slice.beginNanos(),
                slice.endNanos());
        Map<String, Object> args = new LinkedHashMap<>();
        args.put(isSpan ? (label.equals(DATA_WAIT) ? "batch" : "step") : "sequence", entry.number());
        if (!entry.algorithm().isEmpty()) {
            args.put("algorithm", entry.algorithm());
        }
        if (entry.bytes() > 0) {
            args.put("bytes", entry.bytes());
        }
        if (!isSpan) {
            args.put("group", entry.group().replace("|", " of ranks "));
            args.put("state", entry.state().name().toLowerCase(Locale.ROOT));
        }
        if (entry.peer() >= 0) {
            args.put("peer", entry.peer());
            args.put("tag", entry.tag());
        }
        json.put("args", args);
        put(json);
        if (entry.lateRank() >= 0) {
            long end = Math.min(slice.beginNanos() + entry.lateNanos(), slice.endNanos());
            Map<String, Object> wait =
                    slice("waits for rank " + entry.lateRank(), "wait", rank, thread, slice.beginNanos(), end);
            wait.put("args", Map.of("rank", entry.lateRank(), "waited_us", entry.lateNanos() / NANOS_PER_MICRO));
            put(wait);
        }
        if (entry.kind() == Kind.MESSAGE) {
            messages.add(entry, new Arrow(rank, thread, slice.beginNanos(), slice.endNanos()));
        }
        if (entry.kind() == Kind.COLLECTIVE && entry.state() != State.FAILED) {
            collectives
                    .computeIfAbsent(entry.group() + "#" + entry.number(), _ -> new ArrayList<>())
                    .add(new Arrow(rank, thread, slice.beginNanos(), slice.endNanos()));
        }
    }

    private static boolean isStep(String label) {
        return label.equals(STEP) || label.equals(Timeline.MODEL_STEP);
    }

    private Map<String, Object> slice(
            String name, String category, int rank, int thread, long beginNanos, long endNanos) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ph", "X");
        json.put("name", name);
        json.put("cat", category);
        json.put("pid", rank);
        json.put("tid", thread);
        json.put("ts", micros(beginNanos));
        json.put("dur", Math.max(0, endNanos - beginNanos) / NANOS_PER_MICRO);
        return json;
    }

    private double micros(long nanos) {
        return (nanos - originNanos) / NANOS_PER_MICRO;
    }

    /** Writes the arrows and the end. */
    void end(Map<String, Object> otherData) throws IOException {
        for (Map.Entry<String, List<Arrow>> collective : collectives.entrySet()) {
            arrows(collective.getKey(), collective.getValue());
        }
        for (MessageArrows.Message message : messages.matched()) {
            put(arrow(
                    "s", "message", message.id(), message.send(), message.send().beginNanos()));
            Arrow receive = message.receive();
            long arrival = Math.max(receive.beginNanos(), receive.endNanos() - 1); // inside of the slice
            put(arrow(
                    "f",
                    "message",
                    message.id(),
                    receive,
                    Math.max(message.send().beginNanos(), arrival)));
        }
        out.write("\n],\"otherData\":" + JsonLine.of(otherData) + "}\n");
    }

    private void arrows(String name, List<Arrow> ranks) throws IOException {
        Arrow last =
                ranks.stream().max(Comparator.comparingLong(Arrow::beginNanos)).orElseThrow();
        for (Arrow other : ranks) {
            if (other.rank() != last.rank()) {
                put(arrow("s", "collective", name + ">" + other.rank(), last, last.beginNanos()));
                long end = Math.max(other.beginNanos(), Math.min(other.endNanos(), last.beginNanos()));
                put(arrow("f", "collective", name + ">" + other.rank(), other, end));
            }
        }
    }

    private Map<String, Object> arrow(String phase, String name, String id, Arrow place, long nanos) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ph", phase);
        json.put("name", name);
        json.put("cat", "flow");
        json.put("id", id);
        json.put("pid", place.rank());
        json.put("tid", place.thread());
        json.put("ts", micros(nanos));
        if (phase.equals("f")) {
            json.put("bp", "e");
        }
        return json;
    }

    private void put(Map<String, Object> event) throws IOException {
        if (events++ > 0) {
            out.write(",\n");
        }
        out.write(JsonLine.of(event));
    }
}
