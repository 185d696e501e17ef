package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import io.jrun.launcher.trace.ChromeTraceCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The dashboard in a real browser, and the trace and report of the same real job. */
class DashboardIT extends RealJobs {
    /** Separates a page that shows a kill at once from a page that must be loaded again. */
    private static final Duration SOON = Duration.ofSeconds(20);

    /** Four ranks, one of them slow; until a file "stop" exists. */
    private static final String PROGRAM = """
            import io.jrun.comm.*;
            import java.lang.foreign.*;
            import java.nio.file.*;
            import java.util.*;

            public class Job {
                public static void main(String[] args) throws Exception {
                    try (World world = Distributed.init()) {
                        var data = MemorySegment.ofArray(new float[2000]);
                        var stop = MemorySegment.ofArray(new int[1]);
                        System.out.println("rank " + world.rank() + " has begun");
                        System.err.println("<script>document.title = 'attacked'</script>");
                        for (long step = 1; stop.get(ValueLayout.JAVA_INT, 0) == 0; step++) {
                            long begin = System.nanoTime();
                            Thread.sleep(world.rank() == 2 ? 40 : 5);
                            long computed = System.nanoTime();
                            world.group().allReduce(data, DataType.F32, 2000, ReduceOp.SUM);
                            long end = System.nanoTime();
                            world.metrics().span("forward", step, begin, computed, 0);
                            world.metrics().span("step", step, begin, end, 0);
                            world.metrics().report(step, Map.of("loss", 5.0 / step, "step_seconds", (end - begin) / 1e9,
                                    "exposed_communication_seconds", (end - computed) / 1e9));
                            if (step % 20 == 0) System.out.println("step " + step + " has ended");
                            stop.set(ValueLayout.JAVA_INT, 0, Files.exists(Path.of("stop")) ? 1 : 0);
                            world.group().allReduce(stop, DataType.I32, 1, ReduceOp.MAX);
                        }
                    }
                }
            }
            """;

    private Running serve() {
        return jrun.start("dashboard", "--no-open").awaitOutput("token=");
    }

    /** The tests use the folder of state below the home of the test. */
    private static String jobPage(Running dashboard, String job) {
        return dashboard.out().strip() + "#/job/" + job;
    }

    @Test
    void aLiveJobIsShownUntilItsWorkerIsKilled() throws Exception {
        assumeTrue(Browser.isPresent(), "no chromium and chromedriver on this machine");
        Jars.program(folder.resolve("job.jar"), "Job", PROGRAM);
        Running dashboard = serve();
        try (Browser browser = Browser.start(1280, 1000)) {
            browser.open(dashboard.out().strip());
            browser.await(".list", "No jobs yet");
            Running job = jrun.start("--nproc-per-node=4", "job.jar");
            browser.await(".list tbody", job.runId());
            browser.await(".list tbody", "running");
            browser.click(".list tbody a");
            watch(browser, job);
            killRank(job, 1);
            long killed = System.nanoTime();
            browser.await(".failure", "Rank 1 on ");
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(SOON);
            assertThat(browser.text(".failure")).contains("SIGKILL");
            assertThat(browser.text("#ranks tbody tr:first-child")).contains("failed", "SIGKILL (137)");
            assertThat(job.await().exitCode()).isEqualTo(137);
            assertThat(browser.value("document.title")).isEqualTo(job.runId() + " – jrun");
            browser.assertNoErrors();
            reportOf(job, browser);
            browser.open(jobPage(dashboard, "%E0%A4"));
            browser.await("main", "there is no job of this name");
        }
        dashboard.signal("TERM");
        dashboard.awaitExit();
    }

    private static void killRank(Running job, int rank) {
        List<String> processes = Leftovers.processesWith("JRUN_RUN_ID=" + job.runId(), "RANK=" + rank);
        processes.forEach(pid -> JRun.kill("KILL", pid));
    }

    private static void watch(Browser browser, Running job) {
        browser.await("h1", job.runId());
        browser.await("#heat .head", "rank 2 is the straggler");
        browser.await("#curves", "loss");
        browser.await("#collectives", "group world of ranks 0-3");
        String before = browser.text(".figures");
        JRun.waitFor(() -> !browser.text(".figures").equals(before), "another step");
        assertThat(browser.number("document.querySelectorAll('#heat canvas, #curves canvas').length"))
                .isGreaterThan(2);
        browser.type("#logs input[type=search]", "has begun");
        browser.type("#logs input.short", "0,3");
        browser.await("#logs .log", "rank 3 has begun");
        assertThat(browser.text("#logs .log").lines().filter(line -> line.contains("has begun")))
                .hasSize(2);
        browser.type("#logs input[type=search]", "<script>");
        browser.await("#logs .log", "<script>document.title = 'attacked'</script>");
        browser.type("#logs input[type=search]", "has begun");
        browser.click("#logs .head button");
        browser.await("#logs .body p", "2 matches in the whole files");
        browser.click("#theme");
        assertThat(browser.value("getComputedStyle(document.body).backgroundColor"))
                .isEqualTo("rgb(15, 17, 21)");
        browser.click(".jobhead .danger"); // asks first
        browser.await("dialog", "All workers get SIGTERM");
        browser.click("dialog button");
        browser.click(".jobhead button");
        browser.await("dialog pre", "rank 3");
        browser.click("dialog button");
        browser.resize(420, 900);
        assertThat(browser.number("document.documentElement.scrollWidth")).isLessThanOrEqualTo(420);
        browser.resize(1280, 1000);
        assertThat(browser.text("#logs .body p"))
                .as("new lines leave the matches")
                .contains("2 matches");
        assertThat(browser.text(".jobhead .state")).isEqualTo("running");
    }

    private void reportOf(Running job, Browser browser) throws IOException {
        assertThat(jrun.run("report", job.runId(), "-o", "report.html").exitCode())
                .isZero();
        browser.open(folder.resolve("report.html").toUri().toString());
        browser.await(".failure", "Rank 1 on ");
        browser.await("#curves", "loss");
        browser.await("#logs .log", "<script>document.title = 'attacked'</script>");
        assertThat(browser.value("document.title")).isEqualTo(job.runId() + " – jrun report");
        browser.assertNoErrors();
    }

    @Test
    void twoRunsAreComparedAndAJobIsCancelled() throws Exception {
        assumeTrue(Browser.isPresent(), "no chromium and chromedriver on this machine");
        Jars.program(folder.resolve("job.jar"), "Job", PROGRAM);
        Running first = jrun.start("--nproc-per-node=4", "--trace", "--report=end.html", "job.jar");
        JRun.waitFor(() -> first.out().contains("rank 3 has begun"), "the ranks of the first job");
        Running dashboard = serve();
        try (Browser browser = Browser.start(1280, 1000)) {
            browser.open(jobPage(dashboard, first.runId()));
            browser.await("#curves", "loss");
            Result top = jrun.run("top", first.runId());
            assertThat(top.out()).contains("RANK  HOST", "4 ranks  step ");
            Files.createFile(folder.resolve("stop"));
            assertThat(first.await().exitCode()).isZero();
            browser.await(".jobhead .state", "succeeded");
            overlaps(first);
            assertThat(Files.readString(folder.resolve("end.html"))).contains("\"state\":\"ended\"");
            Files.delete(folder.resolve("stop"));
            Running second = jrun.start("--nproc-per-node=4", "job.jar");
            JRun.waitFor(() -> second.out().contains("rank 3 has begun"), "the ranks of the second job");
            browser.open("about:blank");
            browser.open(jobPage(dashboard, second.runId()));
            browser.await("#curves", first.runId());
            browser.await("#curves", "loss");
            browser.choose("#curves select", first.runId());
            browser.await("#curves .keys", first.runId());
            browser.click(".jobhead .danger");
            browser.await("dialog", "Cancel " + second.runId() + "?");
            browser.click("dialog .danger");
            browser.await(".jobhead .state", "failed");
            assertThat(second.await().exitCode()).isEqualTo(143);
            browser.await(".failure", "Stopped by");
            browser.assertNoErrors();
        }
        dashboard.signal("TERM");
        dashboard.awaitExit();
    }

    /** The slices of one collective overlap on all ranks, and the wait is for the slow rank. */
    private void overlaps(Running job) throws IOException {
        Result result = jrun.run("trace", job.runId(), "-o", "trace.json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).contains("to within 0.000 ms");
        List<JsonNode> events = ChromeTraceCheck.events(Files.readString(folder.resolve("trace.json")));
        Map<Integer, List<JsonNode>> calls = events.stream()
                .filter(event -> event.path("args").path("bytes").asInt() == 8000) // the end of a small one is unknown
                .collect(Collectors.groupingBy(
                        event -> event.path("args").path("sequence").asInt()));
        assertThat(calls.size()).isGreaterThan(10);
        assertThat(calls.values()).allSatisfy(ranks -> {
            assertThat(ranks).hasSize(4);
            double lastBegin =
                    ranks.stream().mapToDouble(ChromeTraceCheck::begin).max().orElseThrow();
            double firstEnd =
                    ranks.stream().mapToDouble(ChromeTraceCheck::end).min().orElseThrow();
            assertThat(lastBegin - firstEnd).as("microseconds").isLessThan(1000);
        });
        assertThat(events).anyMatch(event -> event.path("name").asText().equals("waits for rank 2"));
    }

    @Test
    void aPathThatCannotBeWrittenIsOneLine() throws Exception {
        Jars.program(folder.resolve("job.jar"), "Job", "public class Job { public static void main(String[] a) {} }");
        Running job = jrun.start("job.jar");
        assertThat(job.await().exitCode()).isZero();
        Path file = folder.resolve("absent/report.html");
        Result result = jrun.run("report", job.runId(), "-o", file.toString());
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains("report: cannot write " + file + ": ").doesNotContain("Exception");
        assertThat(jrun.run("trace", job.runId()).exitCode()).isEqualTo(2);
    }
}
