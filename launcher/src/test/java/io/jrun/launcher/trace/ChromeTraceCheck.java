package io.jrun.launcher.trace;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks events against the rules of the Chrome trace event format ("Trace Event Format", Google): the fields of each
 * phase, slices of a thread that lie apart or inside each other, and arrows with both ends.
 */
public final class ChromeTraceCheck {
    private static final Set<String> PHASES = Set.of("M", "X", "s", "f");
    private static final Set<String> METADATA =
            Set.of("process_name", "process_sort_index", "thread_name", "thread_sort_index");

    /** Decimal microseconds have rounding errors below a nanosecond. */
    private static final double ROUNDING = 1e-3;

    private ChromeTraceCheck() {}

    /** The events of a trace. Fails if an event breaks a rule. */
    public static List<JsonNode> events(String trace) throws IOException {
        List<JsonNode> events = new ArrayList<>();
        new JsonMapper().readTree(trace).path("traceEvents").forEach(events::add);
        check(events);
        return events;
    }

    /** The begin of a slice, in microseconds. */
    public static double begin(JsonNode slice) {
        return slice.path("ts").asDouble();
    }

    /** The end of a slice, in microseconds. */
    public static double end(JsonNode slice) {
        return begin(slice) + slice.path("dur").asDouble();
    }

    private static void check(List<JsonNode> events) {
        Map<String, List<JsonNode>> threads = new HashMap<>();
        Map<String, List<String>> arrows = new HashMap<>();
        for (JsonNode event : events) {
            String phase = event.path("ph").asText();
            assertThat(PHASES).as("%s", event).contains(phase);
            assertThat(event.path("pid").isInt()).as("%s", event).isTrue();
            assertThat(event.path("tid").isInt()).as("%s", event).isTrue();
            assertThat(event.path("name").isTextual()).as("%s", event).isTrue();
            if (phase.equals("M")) {
                assertThat(METADATA).contains(event.path("name").asText());
                assertThat(event.path("args").isObject()).as("%s", event).isTrue();
            } else {
                assertThat(number(event, "ts")).as("%s", event).isGreaterThanOrEqualTo(0);
            }
            if (phase.equals("X")) {
                assertThat(number(event, "dur")).as("%s", event).isGreaterThanOrEqualTo(0);
                threads.computeIfAbsent(event.path("pid") + " " + event.path("tid"), _ -> new ArrayList<>())
                        .add(event);
            } else if (!phase.equals("M")) {
                arrows.computeIfAbsent(event.path("id").asText(), _ -> new ArrayList<>())
                        .add(phase);
            }
        }
        assertThat(arrows.values()).allSatisfy(ends -> assertThat(ends).containsExactly("s", "f"));
        threads.values().forEach(ChromeTraceCheck::checkNesting);
    }

    private static void checkNesting(List<JsonNode> slices) {
        slices.sort(Comparator.comparingDouble((JsonNode slice) -> number(slice, "ts"))
                .thenComparingDouble(slice -> -number(slice, "dur")));
        Deque<Double> open = new ArrayDeque<>();
        for (JsonNode slice : slices) {
            double begin = number(slice, "ts");
            double end = begin + number(slice, "dur");
            while (!open.isEmpty() && open.peek() <= begin + ROUNDING) {
                open.pop();
            }
            if (!open.isEmpty()) {
                assertThat(end).as("the end of %s", slice).isLessThanOrEqualTo(open.peek() + ROUNDING);
            }
            open.push(end);
        }
    }

    private static double number(JsonNode event, String field) {
        assertThat(event.path(field).isNumber()).as("%s of %s", field, event).isTrue();
        return event.path(field).asDouble();
    }
}
