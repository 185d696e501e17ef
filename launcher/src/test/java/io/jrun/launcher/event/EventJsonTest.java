package io.jrun.launcher.event;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.layout.Placement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each event, in JSON and back. */
class EventJsonTest {
    private static final JobFailure FAILURE =
            new JobFailure("workerFailed", OptionalInt.of(0), "h1", "exited with code 3");

    static List<JobEvent> events() {
        return List.of(
                new JobEvent.JobStarted(
                        "nightly",
                        "0.1.0",
                        new ProcessIdentity("h0", 12, "boot", 34),
                        true,
                        1_500,
                        Path.of("/data/a b"),
                        List.of("jrun", "sh"),
                        List.of("sh", "-c", "echo \"a\n\u0000é\u2028\"\r", ""),
                        List.of("TOKEN"),
                        List.of("NCCL_DEBUG=INFO"),
                        List.of("h1")),
                new JobEvent.NodeJoined(2, "h1", "10.0.0.1", 8, List.of("0", "GPU-1")),
                new JobEvent.NodeLost(2, "h1", "its host is down"),
                new JobEvent.RoundStarted(2, 1, List.of(new Placement(0, 0, 0, "h1", "0,1"))),
                new JobEvent.RoundJoined(2),
                new JobEvent.WorkerStarted(2, 0, 99, "attempt-1/rank-0000"),
                new JobEvent.WorkerLeft(2, 0, "returned from main"),
                new JobEvent.WorkerParked(2, 0, "lost rank 1"),
                new JobEvent.WorkerEnded(
                        2, 1, 1, "h1", 99, 137, true, true, 0.125, "Error: x", "no such file", List.of("core"), "a"),
                new JobEvent.MetricReported(
                        2, 1, Long.MAX_VALUE, Map.of("loss", -0.5, "a", Double.NaN, "b", Double.NEGATIVE_INFINITY)),
                new JobEvent.GpusReported(
                        2, "h1", List.of(new GpuLoad("MIG-1", "H100", Map.of(GpuLoad.MEMORY_USED_BYTES, 3e9)))),
                new JobEvent.WorkersMeasured(2, "h1", List.of(new WorkerLoad(3, 99.5, 1L << 31))),
                new JobEvent.MetricsDropped(7),
                new JobEvent.StragglersChanged(
                        List.of(new Straggler(1, "my group", 12.5, 0.25, 7.25, 3, 4, 0.5, 0.625, 0.75)), true),
                new JobEvent.ClockMeasured(2, "h1", -5_000_000_000L, 80_500, 123_456_789_012_345L),
                new JobEvent.RankPlaced(2, 1, "pp=1 tp=0"),
                new JobEvent.FailureDetected(2, FAILURE),
                new JobEvent.FailureDetected(2, new JobFailure("timeout", OptionalInt.empty(), "", "")),
                new JobEvent.Notice("going on"),
                new JobEvent.JobEnded(3, 1, 2.5, Optional.of(FAILURE), Map.of("h1", 0.004), List.of("jrun: x", "")));
    }

    @ParameterizedTest
    @MethodSource("events")
    void writtenEventsAreReadUnchanged(JobEvent event) throws IOException {
        String line = JsonLine.of(EventJson.of(1_795_423_345_013L, event));
        assertThat(line).doesNotContain("\n").contains("\"time\":1795423345.013,");
        Map<String, Object> json = JsonLine.read(line);
        assertThat(EventJsonReader.timeMillis(json)).isEqualTo(1_795_423_345_013L);
        assertThat(EventJsonReader.read(json)).contains(event);
    }

    /** A new event needs a place above and in the document. */
    @Test
    void eachEventIsTestedAndDescribed() throws IOException {
        String page = Files.readString(Path.of(System.getProperty("jrun.root", ".."), "docs/job-events.md"));
        assertThat(Arrays.stream(JobEvent.class.getPermittedSubclasses()).map(Class::getSimpleName))
                .isSubsetOf(events().stream()
                        .map(event -> event.getClass().getSimpleName())
                        .toList())
                .allSatisfy(name -> assertThat(page)
                        .contains("`" + Character.toLowerCase(name.charAt(0)) + name.substring(1) + "`"));
    }
}
