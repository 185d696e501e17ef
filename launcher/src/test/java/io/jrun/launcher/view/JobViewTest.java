package io.jrun.launcher.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.event.WorkerLoad;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.layout.Placement;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class JobViewTest {
    @TempDir
    Path state;

    private static JsonNode json(Map<String, Object> plain) throws IOException {
        return new JsonMapper().readTree(JsonLine.of(plain));
    }

    private static List<JsonNode> list(JsonNode array) {
        List<JsonNode> elements = new ArrayList<>();
        array.forEach(elements::add);
        return elements;
    }

    private JobView view(RecordedJob job) throws IOException {
        JobView view = new JobView("nightly", job.logs());
        view.refreshMetrics();
        return view;
    }

    @Test
    void aKilledWorkerIsTheFailureOfTheJob() throws IOException {
        JobFailure failure = new JobFailure("workerFailed", OptionalInt.of(1), "b", "ended by SIGKILL");
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "b"));
        try (job) {
            job.publish(new JobEvent.WorkersMeasured(1, "b", List.of(new WorkerLoad(1, 150, 1L << 30))));
            job.publish(new JobEvent.WorkerEnded(
                    1, 1, 0, "b", 1001, 137, false, false, 2.5, "", "", List.of(), "attempt-0/rank-1"));
            job.publish(new JobEvent.FailureDetected(1, failure));
        }
        JsonNode summary = json(view(job).summary());
        assertThat(summary.path("state").asText()).isEqualTo("running");
        assertThat(summary.path("failure").toString())
                .contains("\"kind\":\"workerFailed\",\"rank\":1,\"host\":\"b\",\"text\":\"ended by SIGKILL\"");
        JsonNode workers = summary.path("workers");
        assertThat(workers.get(0).path("state").asText()).isEqualTo("running");
        assertThat(workers.get(1).path("state").asText()).isEqualTo("failed");
        assertThat(workers.get(1).path("end").asText()).isEqualTo("SIGKILL (137)");
        assertThat(workers.get(1).path("residentBytes").asLong()).isEqualTo(1L << 30);
        assertThat(workers.get(1).path("cpuPercent").asDouble()).isEqualTo(150);
    }

    @Test
    void aFailureOfAnEarlierRoundIsNoFailureOfTheJob() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        try (job) {
            job.publish(new JobEvent.FailureDetected(
                    1, new JobFailure("workerFailed", OptionalInt.of(0), "a", "exited with code 1")));
            job.publish(new JobEvent.RoundStarted(2, 1, List.of()));
            job.publish(new JobEvent.JobEnded(0, 1, 3, Optional.empty(), Map.of(), List.of()));
        }
        assertThat(view(job).summary()).doesNotContainKey("failure").containsEntry("exit", "exit 0");
    }

    @Test
    void theMetricsOfAllRanksAreOneColumnForEachStep() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a"));
        try (job) {
            for (int rank = 0; rank < 2; rank++) {
                job.report(
                        rank,
                        3,
                        Map.of("loss", 1.0 + rank, "step_seconds", 0.25, "exposed_communication_seconds", 0.1 * rank));
            }
            job.report(0, 4, Map.of("loss", Double.NaN));
        }
        JobView view = view(job);
        JsonNode metrics = json(view.metrics(0));
        int loss = list(metrics.path("names")).indexOf(new TextNode("loss"));
        JsonNode columns = metrics.path("columns");
        assertThat(columns).hasSize(2);
        assertThat(columns.get(0).path(2).path(loss).toString()).isEqualTo("[1.0,1.5,2.0]");
        assertThat(columns.get(1).path(2).path(loss).isNull()).isTrue();
        assertThat(json(view.heat(0)).path("columns").toString()).isEqualTo("[[3,[250000,250000],[0,100000]]]");
        long revision = metrics.path("revision").asLong();
        assertThat(json(view.metrics(revision)).path("columns")).isEmpty();
    }

    @Test
    void manyStepsAreFewColumns() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        int steps = 4001;
        try (job) {
            for (int step = 0; step < steps; step++) {
                job.report(0, step, Map.of("loss", (double) step));
            }
        }
        JsonNode metrics = json(view(job).metrics(0));
        assertThat(metrics.path("width").asInt()).isEqualTo(4);
        assertThat(metrics.path("columns")).hasSize(1001);
        assertThat(metrics.path("columns").get(0).path(2).toString()).isEqualTo("[[0.0,1.5,3.0]]");
    }

    @Test
    void aRestartFromAnEarlierStepReplacesTheStepsAfterIt() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        try (job) {
            for (int step = 0; step < 10; step++) {
                job.report(0, step, Map.of("loss", 9.0));
            }
            job.publish(new JobEvent.MetricReported(2, 0, 5, Map.of("loss", 1.0)));
        }
        JsonNode columns = json(view(job).metrics(0)).path("columns");
        assertThat(columns).hasSize(6);
        assertThat(columns.get(5).path(2).toString()).isEqualTo("[[1.0,1.0,1.0]]");
    }

    @Test
    void aDamagedRecordIsShownUpToTheDamage() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        Files.writeString(
                job.logs().resolve("events.jsonl"), "{\"type\":\"jobEnd\u0000\n{}\n", StandardOpenOption.APPEND);
        assertThat(json(view(job).summary()).path("problems").toString()).contains("events.jsonl is damaged in line");
    }

    @Test
    void aLineWithoutEndIsDamage() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        String line = "{\"type\":\"notice\",\"time\":1.0,\"text\":\"" + "x".repeat(1 << 24) + "\"}\n";
        Files.writeString(job.logs().resolve("events.jsonl"), line, StandardOpenOption.APPEND);
        assertThat(json(view(job).summary()).path("problems").toString()).contains("events.jsonl is damaged in line");
    }

    @Test
    @Timeout(60)
    void aNamedPipeIsNoRecord() throws Exception {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        Path events = job.logs().resolve("events.jsonl");
        Files.delete(events);
        assertThat(new ProcessBuilder("mkfifo", events.toString()).start().waitFor())
                .isZero();
        assertThatThrownBy(() -> view(job)).hasMessage(events + " is no file");
    }

    @Test
    void topShowsTheGpuOfEachRank() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        try (job) {
            job.publish(new JobEvent.RoundStarted(
                    2, 1, List.of(new Placement(0, 0, 0, "a", "3"), new Placement(1, 0, 1, "a", ""))));
            Map<String, Double> values = Map.of("utilizationPercent", 96.6, "memoryUsedBytes", 3.0 * (1 << 30));
            job.publish(new JobEvent.GpusReported(0, "a", List.of(new GpuLoad("3", "H100", values))));
        }
        List<String> lines = TopText.lines(List.of(view(job)), 0);
        assertThat(lines.get(1)).endsWith("MEMORY  GPU");
        assertThat(lines.get(2)).endsWith("  3 97 % 3072 MiB");
        assertThat(lines.get(3)).endsWith("  -");
        RecordedJob cpus = new RecordedJob(state, "cpus", List.of("a"));
        cpus.close();
        assertThat(TopText.lines(List.of(view(cpus)), 0).get(1)).endsWith("MEMORY");
    }

    @Test
    void aRecordThatCannotBeReadIsOneLine() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        Path events = job.logs().resolve("events.jsonl");
        try (RandomAccessFile file = new RandomAccessFile(events.toFile(), "rw")) {
            file.setLength(1L << 30); // sparse
        }
        assertThatThrownBy(() -> view(job))
                .hasMessage(events + " has 1024 MiB, and jrun reads records of at most 256 MiB");
        Files.writeString(events, "{\"schema\":\"jrun-job-events\",\"version\":\"2.0\"}\n");
        assertThatThrownBy(() -> view(job)).hasMessageContaining("has version 2.0 of the schema");
    }

    @Test
    void onlyTheEndOfVeryLongMetricsIsRead() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        try (job) {
            job.report(0, 1, Map.of("loss", 1.0));
        }
        Path metrics = job.logs().resolve("metrics.jsonl");
        String last = Files.readAllLines(metrics).getLast();
        try (RandomAccessFile file = new RandomAccessFile(metrics.toFile(), "rw")) {
            file.setLength((128L << 20) + 5_000_000);
            file.seek(file.length());
            file.write(("\n" + last + "\n").getBytes(StandardCharsets.UTF_8));
        }
        JsonNode summary = json(view(job).summary());
        assertThat(summary.path("problems").toString()).contains("only the last 128 MiB of the metrics are shown");
        assertThat(summary.path("latest")).hasSize(1);
    }

    @Test
    void theOutputOfAllRanksIsReadAndSearched() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a", "a"));
        try (job) {
            Files.writeString(job.folder(0).resolve("stdout.log"), "hello\nstep 1 Loss 3\n");
            Files.writeString(job.folder(1).resolve("stderr.log"), "<script>alert(1)</script>\nno newline");
        }
        JobLogs logs = new JobLogs(view(job));
        JsonNode first = json(logs.since(0));
        assertThat(list(first.path("lines")))
                .extracting(
                        line -> line.path("rank").asInt(),
                        line -> line.path("stream").asText(),
                        line -> line.path("text").asText())
                .containsExactly(
                        tuple(0, "stdout", "hello"),
                        tuple(0, "stdout", "step 1 Loss 3"),
                        tuple(1, "stderr", "<script>alert(1)</script>"));
        Files.writeString(job.folder(1).resolve("stderr.log"), " now\n", StandardOpenOption.APPEND);
        JsonNode next = json(logs.since(first.path("last").asLong())).path("lines");
        assertThat(next).hasSize(1);
        assertThat(next.get(0).path("text").asText()).isEqualTo("no newline now");
        assertThat(json(logs.search("loss", OptionalInt.empty())).path("lines")).hasSize(1);
        assertThat(json(logs.search("loss", OptionalInt.of(1))).path("lines")).isEmpty();
    }

    @Test
    void aSearchHoldsNoWholeLine() throws IOException {
        Path file = Files.writeString(
                state.resolve("long.log"),
                "x".repeat(65_532) + "Needle in" + "y".repeat(200_000) + "needle\r\nshort needle\r\nnone\nneedle");
        List<String> found = new ArrayList<>();
        long read = new LogSearch("nEEdle").read(file, Long.MAX_VALUE, 10, found::add);
        assertThat(read).isEqualTo(Files.size(file));
        assertThat(found).hasSize(3);
        assertThat(found.getFirst()).hasSize(4096).startsWith("xNeedle inyyy");
        assertThat(found.subList(1, 3)).containsExactly("short needle", "needle");
        assertThat(new LogSearch("none").read(file, 1000, 10, found::add)).isEqualTo(1000);
        assertThat(found).hasSize(3);
    }
}
