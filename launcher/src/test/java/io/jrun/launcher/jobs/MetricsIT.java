package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Metrics of real workers reach the record of the job and its result, and delay no worker. */
class MetricsIT extends RealJobs {
    private static final String PROGRAM = """
            import io.jrun.comm.*;
            import java.nio.file.*;
            import java.util.*;

            public class Job {
                public static void main(String[] args) throws Exception {
                    try (World world = Distributed.init()) {
                        for (long step = 1; step <= 3; step++) {
                            world.metrics().report(step, Map.of("loss", step == 3 ? Double.NaN : world.rank() + 1.0 / step));
                            world.metrics().report(step, Map.of("lr", 0.5));
                        }
                        for (long step = 4; step < Long.parseLong(args[0]); step++) {
                            if (step == 5) {
                                Files.createFile(Path.of("reports-" + world.rank()));
                                while (!Files.exists(Path.of("go"))) {
                                    Thread.sleep(10);
                                }
                            }
                            world.metrics().report(step, Map.of("loss", 1.0));
                        }
                        Files.createFile(Path.of("reported-" + world.rank()));
                        while (args.length > 1 && !Files.exists(Path.of(args[1]))) {
                            Thread.sleep(10);
                        }
                        if (world.rank() == 1) {
                            System.exit(0); // sends the reports, too
                        }
                    }
                }
            }
            """;

    @Test
    void theRecordAndTheResultHaveTheMetricsOfAllRanks() throws IOException {
        Jars.program(folder.resolve("job.jar"), "Job", PROGRAM);
        Result result = jrun.run("--nproc-per-node=2", "--json", "job.jar", "4");
        assertThat(result.exitCode()).as(result.err()).isZero();
        Map<String, String> recorded = new TreeMap<>();
        for (JsonNode event : events(jrun.logs().resolve("metrics.jsonl"))) {
            if (!event.path("type").asText().equals("metricReported")) {
                continue; // a slow job has measurements of its processes, too
            }
            assertThat(event.path("round").asInt()).isEqualTo(1);
            event.path("values")
                    .properties()
                    .forEach(value -> recorded.put(
                            "rank " + event.path("rank") + " step " + event.path("step") + " " + value.getKey(),
                            value.getValue().asText()));
        }
        assertThat(recorded)
                .hasSize(12)
                .containsEntry("rank 0 step 2 loss", "0.5")
                .containsEntry("rank 1 step 2 loss", "1.5")
                .containsEntry("rank 1 step 2 lr", "0.5")
                .containsEntry("rank 1 step 3 loss", "NaN");
        JsonNode metrics = new JsonMapper().readTree(result.out()).path("metrics");
        assertThat(metrics).hasSize(2);
        assertThat(metrics.get(1).path("rank").asInt()).isEqualTo(1);
        assertThat(metrics.get(1).path("step").asInt()).isEqualTo(3);
        assertThat(events(jrun.logs().resolve("events.jsonl")))
                .extracting(event -> event.path("type").asText())
                .startsWith("jobStarted", "nodeJoined", "clockMeasured", "roundStarted")
                .endsWith("workerEnded", "jobEnded")
                .contains("roundJoined", "workerStarted", "workerLeft")
                .doesNotContain("metricReported");
    }

    /** The library of the endpoint is loaded only if a job asks for the endpoint. */
    @Test
    void theEndpointIsLoadedOnlyWithItsOption() throws IOException {
        Jars.program(folder.resolve("job.jar"), "Job", PROGRAM);
        jrun.with("JRUN_JAVA_HOME", jdkThatLogsClasses().toString())
                .with("XDG_CACHE_HOME", folder.resolve("none").toString()); // with an archive jrun disables the log
        assertThat(jrun.run("job.jar", "1").err())
                .contains("io.jrun.launcher.JobRun ")
                .doesNotContain("io.prometheus", "HttpServer");
        assertThat(jrun.run("--metrics-port=0", "job.jar", "1").err()).contains("io.prometheus", "HttpServer");
    }

    /** The launcher does not read the options of JVMs from the environment. */
    private Path jdkThatLogsClasses() throws IOException {
        Path real = Path.of(System.getProperty("java.home"));
        Path jdk = folder.resolve("jdk");
        Path java = Files.createDirectories(jdk.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\nexec '" + real.resolve("bin/java") + "' -Xlog:class+load:stderr \"$@\"\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        Files.createSymbolicLink(jdk.resolve("release"), real.resolve("release"));
        return jdk;
    }

    /** The agent is in the launcher's process, so the workers' connection stands still too. */
    @Test
    void aStoppedLauncherHoldsUpNoStepAndAKilledOneLeavesAReadableRecord() throws IOException {
        Jars.program(folder.resolve("job.jar"), "Job", PROGRAM);
        Running job = jrun.start("job.jar", "50000", "never");
        Path logs = jrun.logs();
        JRun.waitFor(() -> Files.exists(folder.resolve("reports-0")), "the first reports");
        job.signal("STOP");
        JRun.waitFor(job::isStopped, "the stop of the launcher");
        Files.createDirectory(folder.resolve("go"));
        JRun.waitFor(() -> Files.exists(folder.resolve("reported-0")), "fifty thousand reports during the stop");
        job.signal("CONT");
        JRun.waitFor(() -> text(logs.resolve("metrics.jsonl")).contains("\"step\":49999,"), "the last report");
        job.signal("KILL");
        job.awaitNothingLeft();
        JsonNode described = new JsonMapper()
                .readTree(jrun.run("describe", "--json", job.runId()).out());
        assertThat(described.path("state").asText()).isEqualTo("lost");
        assertThat(described.path("metrics").get(0).path("step").asLong()).isEqualTo(49_999);
        assertThat(events(logs.resolve("metrics.jsonl"))).hasSizeLessThan(200);
    }

    private static List<JsonNode> events(Path file) throws IOException {
        List<JsonNode> events = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            JsonNode event = new JsonMapper().readTree(line);
            if (event.has("type")) {
                events.add(event);
            } else {
                assertThat(event.path("schema").asText()).isEqualTo("jrun-job-events");
            }
        }
        return events;
    }

    private static String text(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
