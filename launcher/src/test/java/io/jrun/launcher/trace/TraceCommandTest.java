package io.jrun.launcher.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import io.jrun.comm.timeline.Timeline;
import io.jrun.comm.timeline.TimelineEntry;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.view.JobView;
import io.jrun.launcher.view.RecordedJob;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Traces of timelines that {@link Timeline} has written, on hosts whose clocks differ by seconds. */
class TraceCommandTest {
    private static final long SECOND = 1_000_000_000;

    /** The begin of the first step on the launcher's clock. */
    private static final long BEGIN = 100 * SECOND;

    private static final int STEPS = 100;

    @TempDir
    Path state;

    private final List<String> notices = new ArrayList<>();

    /** Writes steps of 10 ms: 4 ms forward, then an all-reduce for which the rank {@code late} comes last. */
    private static void train(RecordedJob job, int rank, int late, long offsetNanos) {
        Timeline timeline = Timeline.open(job.folder(rank), rank, 4, 1, false, problem -> {
            throw new AssertionError(problem);
        });
        int group = timeline.name("world|0-3");
        int name = timeline.name("allReduce");
        for (int step = 0; step < STEPS; step++) {
            long begin = BEGIN + step * SECOND / 100 + offsetNanos;
            long enters = begin + (rank == late ? 8_000_000 : 5_000_000);
            timeline.span("forward", step, begin, begin + 4_000_000, 0);
            long entry = timeline.begin(TimelineEntry.Kind.COLLECTIVE, name, group, step, enters, 4096, -1, 0);
            int lateRank = rank == late ? -1 : late;
            timeline.end(entry, true, begin + 9_000_000, timeline.name("ring"), lateRank, 3_000_000);
            timeline.span("step", step, begin, begin + 10_000_000, 0);
        }
    }

    private List<JsonNode> trace(RecordedJob job) throws IOException {
        StringWriter text = new StringWriter();
        TraceCommand.write(new JobView("nightly", job.logs()), text, notices::add);
        return ChromeTraceCheck.events(text.toString());
    }

    @Test
    void clocksThatDifferBySecondsGiveOneTimeline() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a", "b", "b"));
        try (job) {
            job.publish(new JobEvent.ClockMeasured(0, "a", 0, 0, BEGIN));
            // The clock of b is 5 s ahead and drifts by 20 microseconds a second; each measurement errs by 50.
            job.publish(new JobEvent.ClockMeasured(1, "b", 5 * SECOND + 50_000, 60_000, BEGIN - 5 * SECOND));
            job.publish(new JobEvent.ClockMeasured(1, "b", 5 * SECOND + 200_000, 60_000, BEGIN + 5 * SECOND));
        }
        train(job, 0, 3, 0);
        train(job, 1, 3, 0);
        train(job, 2, 3, 5 * SECOND + 100_000);
        train(job, 3, 3, 5 * SECOND + 100_000);
        List<JsonNode> events = trace(job);
        Map<Integer, List<JsonNode>> calls = events.stream()
                .filter(event -> event.path("name").asText().equals("allReduce"))
                .collect(Collectors.groupingBy(
                        event -> event.path("args").path("sequence").asInt()));
        assertThat(calls).hasSize(STEPS).allSatisfy((sequence, ranks) -> {
            assertThat(ranks).hasSize(4);
            DoubleSummaryStatistics ends =
                    ranks.stream().mapToDouble(ChromeTraceCheck::end).summaryStatistics();
            double lastBegin =
                    ranks.stream().mapToDouble(ChromeTraceCheck::begin).max().orElseThrow();
            assertThat(lastBegin).as("call " + sequence).isLessThan(ends.getMin());
            assertThat(ends.getMax() - ends.getMin())
                    .as("microseconds between the ends")
                    .isLessThan(100);
        });
        assertThat(events)
                .filteredOn(event -> event.path("name").asText().equals("waits for rank 3"))
                .hasSize(3 * STEPS);
        assertThat(calls.getOrDefault(0, List.of()))
                .allSatisfy(call ->
                        assertThat(call.path("args").path("algorithm").asText()).isEqualTo("ring"));
        assertThat(notices)
                .containsExactly(
                        "clock of a: +0.000000 s to the launcher's, to within 0.000 ms (1 measurements)",
                        "clock of b: +5.000050 s to the launcher's, to within 0.060 ms (2 measurements)");
    }

    private static Timeline open(RecordedJob job, int rank) {
        return Timeline.open(job.folder(rank), rank, 2, 1, false, problem -> {
            throw new AssertionError(problem);
        });
    }

    private static void message(Timeline timeline, String method, int number, long begin, int peer, int tag) {
        int group = timeline.name("world|0-1");
        long entry =
                timeline.begin(TimelineEntry.Kind.MESSAGE, timeline.name(method), group, number, begin, 8, peer, tag);
        timeline.end(entry, true, begin + 1000, 0, -1, 0);
    }

    @Test
    void anArrowLeadsFromEachSendToItsReceive() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a"));
        try (job) {
            job.publish(new JobEvent.ClockMeasured(0, "a", 0, 0, BEGIN));
        }
        Timeline sender = open(job, 0);
        message(sender, "send", 0, BEGIN, 1, 5);
        message(sender, "send", 1, BEGIN + 2000, 1, 6);
        message(sender, "send", 2, BEGIN + 4000, 1, 5);
        message(sender, "send", 3, BEGIN + 6000, 1, 7);
        Timeline receiver = open(job, 1);
        message(receiver, "recv", 0, BEGIN + 10_000, 0, 6); // waits for the second message first
        message(receiver, "recv", 1, BEGIN + 12_000, 0, 5);
        message(receiver, "recv", 2, BEGIN + 14_000, 0, 5);
        message(receiver, "recv", 3, BEGIN + 16_000, -1, 7); // from any rank
        List<JsonNode> arrows = trace(job).stream()
                .filter(event -> event.path("cat").asText().equals("flow"))
                .toList();
        assertThat(arrows)
                .extracting(
                        event -> event.path("name").asText(),
                        event -> event.path("ph").asText(),
                        event -> event.path("pid").asInt(),
                        event -> Math.round(ChromeTraceCheck.begin(event)))
                .containsExactlyInAnyOrder(
                        tuple("message", "s", 0, 0L),
                        tuple("message", "f", 1, 13L),
                        tuple("message", "s", 0, 2L),
                        tuple("message", "f", 1, 11L),
                        tuple("message", "s", 0, 4L),
                        tuple("message", "f", 1, 15L));
    }

    @Test
    void stepsOfAModelSavesAndWaitsForDataAreSlices() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a"));
        try (job) {
            job.publish(new JobEvent.ClockMeasured(0, "a", 0, 0, BEGIN));
        }
        Timeline own = open(job, 0);
        own.span("data wait", 4, BEGIN, BEGIN + 1000, 0);
        own.step(BEGIN + 1000, BEGIN + 5000);
        own.span("save", 4, BEGIN + 3000, BEGIN + 9000, 0);
        own.step(BEGIN + 5000, BEGIN + 8000);
        Timeline withMetrics = open(job, 1);
        withMetrics.step(BEGIN + 1000, BEGIN + 4000);
        withMetrics.span("step", 70, BEGIN, BEGIN + 5000, 0);
        List<JsonNode> events = trace(job);
        assertThat(events)
                .filteredOn(event -> event.path("ph").asText().equals("X"))
                .extracting(
                        event -> event.path("pid").asInt(),
                        event -> event.path("name").asText(),
                        event -> event.path("args").toString())
                .containsExactlyInAnyOrder(
                        tuple(0, "data wait", "{\"batch\":4}"),
                        tuple(0, "step 0", "{\"step\":0}"),
                        tuple(0, "step 1", "{\"step\":1}"),
                        tuple(0, "save", "{\"step\":4}"),
                        tuple(1, "step 70", "{\"step\":70}"));
        assertThat(events)
                .filteredOn(event -> event.path("name").asText().equals("thread_name"))
                .extracting(event -> event.path("args").path("name").asText())
                .containsExactly("steps", "checkpoints", "steps");
    }

    @Test
    void aRankWithoutAMeasuredClockIsLeftOut() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a", "b", "b"));
        try (job) {
            job.publish(new JobEvent.ClockMeasured(0, "a", 0, 0, BEGIN));
        }
        for (int rank = 0; rank < 4; rank++) {
            train(job, rank, 1, rank < 2 ? 0 : 11 * SECOND);
        }
        assertThat(trace(job)).extracting(event -> event.path("pid").asInt()).containsOnly(0, 1);
        assertThat(notices).contains("2 ranks (2-3): left out, because the clock of b was not measured");
    }

    @Test
    void aJobWithoutTimelinesIsOneLine() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        assertThatThrownBy(() -> trace(job))
                .isInstanceOf(UsageException.class)
                .hasMessage("trace: nightly has no timeline to show: rank 0: it has no timeline; only programs that use"
                        + " jrun's runtime have one.");
    }

    @Test
    void slicesThatOverlapHaveThreadsOfTheirOwn() {
        Lanes lanes = new Lanes();
        assertThat(lanes.take(0, 10)).isZero();
        assertThat(lanes.take(2, 5)).isZero();
        assertThat(lanes.take(4, 8)).isEqualTo(1);
        assertThat(lanes.take(8, 12)).isEqualTo(1);
        assertThat(lanes.take(10, 12)).isZero();
    }
}
