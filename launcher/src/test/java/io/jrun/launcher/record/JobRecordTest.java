package io.jrun.launcher.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.Straggler;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.record.JobRecord.RecordedState;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The record of a job, written and read. */
class JobRecordTest {
    private static final Straggler LATE = new Straggler(1, "my group", 12.5, 0.25, 7.25, 3, 4, 0.5, 0.625, 0.75);

    private static final JobEvent.JobEnded ENDED =
            new JobEvent.JobEnded(42, 1, 1.5, Optional.empty(), Map.of(), List.of("jrun: first failure", "  | é"));

    @TempDir
    private Path folder;

    private static JobEvent.JobStarted started(ProcessIdentity launcher) {
        return new JobEvent.JobStarted(
                "nightly",
                "0.1.0",
                launcher,
                true,
                30_000,
                Path.of("/data/a b"),
                List.of("jrun", "--env=TOKEN=...", "sh"),
                List.of("sh", "-c", "echo 'a\nb\\n'\r", ""),
                List.of("TOKEN"),
                List.of("NCCL_DEBUG=INFO"),
                List.of("h1", "h2"));
    }

    private static JobEvent round(int round, int restarts) {
        return new JobEvent.RoundStarted(
                round, restarts, List.of(new Placement(0, 0, 0, "h1", ""), new Placement(1, 1, 0, "h2", "3")));
    }

    private static JobEvent ended(int round, int rank, int exitCode) {
        return new JobEvent.WorkerEnded(
                round, rank, 0, "h1", 7, exitCode, false, false, 1.25, "", "", List.of(), "attempt-1/rank-0000");
    }

    private void write(Path logs, JobEvent... events) {
        List<String> said = new ArrayList<>();
        try (JobRecorder recorder = JobRecorder.begin(logs, said::add)) {
            for (int i = 0; i < events.length; i++) {
                recorder.on(1_000 + i, events[i]);
            }
        }
        assertThat(said).isEmpty();
    }

    private Path file() {
        return folder.resolve("events.jsonl");
    }

    @Test
    void theLastRoundAndTheEndAreRead() throws IOException {
        JobEvent.JobStarted started = started(ProcessIdentity.current());
        write(
                folder,
                started,
                round(1, 0),
                new JobEvent.WorkerStarted(1, 0, 5, "attempt-0/rank-0000"),
                ended(1, 0, 1),
                round(2, 1),
                new JobEvent.WorkerStarted(2, 0, 7, "attempt-1/rank-0000"),
                new JobEvent.WorkerStarted(1, 1, 6, "of an earlier round"),
                new JobEvent.StragglersChanged(List.of(LATE), false),
                new JobEvent.MetricsDropped(7),
                ended(2, 0, 42),
                ENDED);
        assertThat(JobRecordReader.read(folder))
                .isEqualTo(new JobRecord(
                        started,
                        RecordedState.ENDED,
                        1_000,
                        1_010,
                        42,
                        1,
                        List.of(
                                new RecordedWorker(0, 0, 0, "h1", 7, "attempt-1/rank-0000", "", "exit 42"),
                                new RecordedWorker(1, 1, 0, "h2", 0, "", "3", "")),
                        List.of(LATE),
                        ENDED.report(),
                        7));
        assertThat(folder).isDirectoryContaining(file -> file.endsWith("events.jsonl"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
                .isEqualTo("rw-------");
    }

    @Test
    void aReaderReadsOnlyWhatIsNew() throws IOException {
        write(folder, started(ProcessIdentity.current()));
        JobRecordReader reader = new JobRecordReader(folder);
        assertThat(reader.read().state()).isEqualTo(RecordedState.STARTING);
        String all = Files.readString(file());
        write(folder, started(ProcessIdentity.current()), round(1, 0), ENDED);
        String more = Files.readString(file()).substring(all.length());
        Files.writeString(file(), "x".repeat(all.length()) + more);
        assertThat(reader.read().state()).isEqualTo(RecordedState.ENDED);
    }

    /** The launcher may be killed while it writes; a disk may be full. */
    @Test
    void aRecordThatIsCutIsReadUpToTheCut() throws IOException {
        write(folder, started(ProcessIdentity.current()), round(1, 0), ENDED);
        byte[] whole = Files.readAllBytes(file());
        int second = Files.readAllLines(file()).get(0).length() + 1;
        for (int length = second + 1; length < whole.length; length += 37) {
            Files.write(file(), Arrays.copyOf(whole, length));
            RecordedState state;
            try {
                state = JobRecordReader.read(folder).state();
            } catch (IOException e) {
                assertThat(e).hasMessageEndingWith("has no event yet");
                continue;
            }
            assertThat(state).isIn(RecordedState.STARTING, RecordedState.RUNNING);
        }
        Files.write(file(), Arrays.copyOf(whole, whole.length - 1));
        Files.writeString(file(), "\0\0\0\n", StandardOpenOption.APPEND);
        append(Files.readAllLines(file()).get(3).replace("\0", ""));
        assertThat(JobRecordReader.read(folder).state()).isEqualTo(RecordedState.RUNNING);
    }

    @Test
    void unknownEventsAndFieldsAreIgnored() throws IOException {
        write(folder, started(ProcessIdentity.current()), ENDED);
        String changed = Files.readString(file())
                .replace("\"version\":\"1.2\"", "\"version\":\"1.7\",\"new\":[{}]")
                .replace("\"exitCode\":42", "\"new\":{\"a\":[null,1.5]},\"exitCode\":42");
        int lastLine = changed.lastIndexOf("{\"type\"");
        Files.writeString(
                file(),
                changed.substring(0, lastLine) + "{\"type\":\"new\",\"time\":1}\n" + changed.substring(lastLine));
        assertThat(JobRecordReader.read(folder).exitCode()).isEqualTo(42);
    }

    @Test
    void anotherMajorVersionIsRefusedInOneLine() throws IOException {
        write(folder, started(ProcessIdentity.current()));
        Files.writeString(file(), Files.readString(file()).replace("\"1.2\"", "\"2.3\""));
        JobIndex index = JobIndex.in(folder.resolve("state"));
        index.put("later", folder);
        assertThatThrownBy(() -> JobRecordReader.read(index.logs("later").orElseThrow()))
                .hasMessage(folder.toRealPath().resolve("events.jsonl")
                        + " has version 2.3 of the schema, and this jrun reads version 1; read it with the version of"
                        + " jrun that wrote it");
        assertThat(index.all()).isEmpty();
        Files.writeString(file(), "something else\n");
        assertThatThrownBy(() -> JobRecordReader.read(folder)).hasMessage(file() + " is not the record of a job");
    }

    @Test
    void aJobWhoseLauncherIsGoneIsLost() throws IOException {
        ProcessIdentity here = ProcessIdentity.current();
        assertThat(stateOf(here)).isEqualTo(RecordedState.RUNNING);
        assertThat(stateOf(new ProcessIdentity(here.host(), here.pid(), here.boot(), here.startTicks() - 1)))
                .isEqualTo(RecordedState.LOST);
        assertThat(stateOf(new ProcessIdentity(here.host() + "x", here.pid(), "other", 1)))
                .as("this machine cannot tell")
                .isEqualTo(RecordedState.RUNNING);
    }

    private RecordedState stateOf(ProcessIdentity launcher) throws IOException {
        write(folder, started(launcher), round(1, 0));
        return JobRecordReader.read(folder).state();
    }

    @Test
    void aJobThatEndsWhileItIsReadIsNotTakenForLost() throws IOException {
        write(folder, started(ProcessIdentity.current()), ENDED);
        String end = Files.readAllLines(file()).getLast();
        write(folder, started(ProcessIdentity.current()));
        JobRecordReader reader = new JobRecordReader(folder, _ -> {
            append(end); // The launcher records the end, and is gone.
            return true;
        });
        assertThat(reader.read().state()).isEqualTo(RecordedState.ENDED);
    }

    private void append(String line) {
        try {
            Files.writeString(file(), line + "\n", StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void metricsHaveAFileOfTheirOwn() throws IOException {
        MetricReported first = new MetricReported(1, 3, 10, Map.of("loss", 0.5));
        MetricReported last = new MetricReported(1, 3, 11, Map.of("loss", Double.NaN));
        try (JobRecorder recorder = JobRecorder.begin(folder, _ -> {})) {
            recorder.on(1_000, started(ProcessIdentity.current()));
            recorder.on(1_000, first);
            recorder.on(1_100, last);
        }
        assertThat(Files.readAllLines(folder.resolve("metrics.jsonl")))
                .containsExactly(
                        "{\"schema\":\"jrun-job-events\",\"version\":\"1.2\"}",
                        "{\"type\":\"metricReported\",\"time\":1.0,\"round\":1,\"rank\":3,\"step\":10,\"values\":{\"loss\":0.5}}",
                        "{\"type\":\"metricReported\",\"time\":1.1,\"round\":1,\"rank\":3,\"step\":11,\"values\":{\"loss\":\"NaN\"}}");
        assertThat(LatestMetrics.read(folder).ranks()).containsExactly(last);
        assertThat(file()).content().doesNotContain("metricReported");
    }

    @Test
    void metricsOfALongJobAreRecordedLessOftenButForTheLast() {
        MetricThinning thinning = new MetricThinning();
        assertThat(thinning.take(0, 1_000, "a")).contains("a");
        assertThat(thinning.take(0, 1_000, "b")).contains("b");
        thinning.written(3 << 24);
        assertThat(thinning.take(0, 1_799, "c")).isEmpty();
        assertThat(thinning.take(1, 1_799, "d")).as("another rank").contains("d");
        assertThat(thinning.rest()).containsExactly("c");
        assertThat(thinning.take(0, 1_800, "e")).contains("e");
        assertThat(thinning.rest()).isEmpty();
    }

    @Test
    void indexLeadsToJobsAndForgetsThoseThatAreGone() throws IOException {
        JobIndex index = JobIndex.in(folder.resolve("state"));
        assertThat(index.all()).isEmpty();
        for (String name : List.of("first", "second")) {
            Path logs = Files.createDirectories(folder.resolve("logs").resolve(name));
            write(logs, started(ProcessIdentity.current()), ENDED);
            index.put(name, logs);
            index.put(name, logs);
        }
        assertThat(index.all()).extracting(JobIndex.IndexedJob::name).containsExactlyInAnyOrder("first", "second");
        Files.delete(folder.resolve("logs/first/events.jsonl"));
        Files.delete(folder.resolve("logs/first"));
        assertThat(index.all()).extracting(JobIndex.IndexedJob::name).containsExactly("second");
        assertThat(folder.resolve("state/jobs/first")).doesNotExist();
        assertThat(index.logs("second")).isPresent();
        assertThat(index.logs("first")).isEmpty();
    }
}
