package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import io.jrun.launcher.trace.ChromeTraceCheck;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Jobs on hosts that do not have their files: each agent sees an empty folder where the launcher has the job's. The
 * network is slow, so that a test can act while a file is under way.
 */
class StagingIT extends RealJobs {
    private static final int BIG_BYTES = 30_000_000; // about 12 s

    private static TestHosts hosts;

    private Path apart;
    private Path work;
    private Path secret;
    private final List<Running> agents = new ArrayList<>();

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(2, "--rate", "20mbit");
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            hosts.close();
        }
    }

    @BeforeEach
    void makeFolders() throws IOException {
        apart = Files.createDirectory(folder.resolve("apart"));
        work = Files.createDirectory(apart.resolve("wd"));
        secret = folder.resolve("secret");
    }

    @AfterEach
    void stopAgents() {
        for (Running agent : agents) {
            agent.signal("TERM");
            agent.await();
        }
    }

    /** An agent on the host whose disk is small. */
    private void startOnH1() {
        start("h1", "mount -t tmpfs -o size=4m none \"$XDG_CACHE_HOME\" && ");
    }

    private void startOnH2() {
        start("h2", "");
    }

    /** An agent with an empty folder in the place of the launcher's, and a cache of its own. */
    private void start(String host, String more) {
        String archives = folder.resolve("cache/jrun") + "/*.jsa";
        String script = "mount -t tmpfs none " + apart + " && export XDG_CACHE_HOME=" + cache(host)
                + " && mkdir -p \"$XDG_CACHE_HOME\" && " + more + "mkdir -m 700 \"$XDG_CACHE_HOME/jrun\" && ln -s "
                + archives + " \"$XDG_CACHE_HOME/jrun\" && exec \"$@\"";
        List<String> where = Stream.concat(
                        hosts.on(host).stream(), Stream.of("unshare", "--mount", "sh", "-c", script, "sh"))
                .toList();
        Running agent = jrun.startUnder(where, "agent", "--secret-file=" + secret, "--listen=0.0.0.0");
        agents.add(agent);
        agent.awaitOutput("jrun agent: listening on 0.0.0.0:29600\n");
    }

    private Path cache(String host) {
        return folder.resolve("cache-" + host);
    }

    private Running job(String... job) {
        return jrun.startUnder(
                hosts.on("head"),
                StandingAgent.join(new String[] {"--secret-file=" + secret, "--workdir=" + work}, job));
    }

    @Test
    void programAndStagedFilesComeToHostsThatLackThem() throws IOException {
        startOnH1();
        startOnH2();
        Jars.program(work.resolve("reader.jar"), "Reader", """
                public class Reader {
                    public static void main(String[] args) throws Exception {
                        System.out.println(java.nio.file.Files.readString(java.nio.file.Path.of("conf/words.txt"))
                                + Class.forName("Plugin").getMethod("word").invoke(null));
                        java.nio.file.Files.writeString(java.nio.file.Path.of("result-" + System.getenv("RANK")), "done");
                    }
                }
                """);
        Path plugin = Jars.compile(
                work.resolve("plugin"),
                "Plugin",
                "public class Plugin { public static String word() { return \"plugged in\"; } }");
        Files.createDirectory(work.resolve("conf"));
        Files.writeString(work.resolve("conf/words.txt"), "staged and ");
        String[] job = {
            "--hosts=h1,h2:2", "--classpath=" + plugin, "--stage=" + work.resolve("conf"), "apart/wd/reader.jar"
        };
        for (int i = 0; i < 2; i++) {
            Result result = job(job).await();
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(result.sortedOut())
                    .containsExactly(
                            "[0@h1] staged and plugged in",
                            "[1@h2] staged and plugged in",
                            "[2@h2] staged and plugged in");
            assertThat(result.err())
                    .contains("the working directory " + work + " does not exist on h2; workers start in "
                            + cache("h2").resolve("jrun/jobs/" + jrun.runId() + "/work"));
        }
        Path left = cache("h2").resolve("jrun/jobs/" + jrun.runId() + "/work");
        JRun.waitFor(() -> !Files.exists(left.resolveSibling("program")), "removal of what was brought");
        assertThat(list(left)).containsExactly(left.resolve("result-1"), left.resolve("result-2"));
        assertThat(list(cache("h2").resolve("jrun/files"))).hasSize(3); // jar, class, words
        Result map = job(StandingAgent.join(new String[] {"--dry-run"}, job)).await();
        assertThat(map.out())
                .contains("sent to hosts that lack it: " + work.resolve("reader.jar") + " (")
                .contains("sent to hosts that lack it: " + work.resolve("conf") + " (11 bytes)");
    }

    @Test
    void bigFileHoldsUpNeitherAbortNorTheEnd() throws IOException {
        startOnH2();
        Running job = job("--hosts=h2", "--stage=" + big(), "sh", "-c", "echo never");
        awaitUnderWay();
        job.signal("INT");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(130);
        assertThat(result.out()).isEmpty();
        JRun.waitFor(() -> list(cache("h2").resolve("jrun/files")).isEmpty(), "removal of the part that had come");
        Path jobs = cache("h2").resolve("jrun/jobs");
        Path placed = jobs.resolve(".placed"); // for the files of agents that are killed
        JRun.waitFor(() -> list(jobs).equals(List.of(placed)) && list(placed).isEmpty(), "removal of the job's folder");
    }

    @Test
    void fileThatChangesOnTheWayIsNamed() throws IOException {
        startOnH2();
        Path big = big();
        Running job = job("--hosts=h2", "--stage=" + big, "sh", "-c", "echo never");
        awaitUnderWay();
        Files.writeString(big, "more", StandardOpenOption.APPEND);
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(127);
        assertThat(result.err())
                .contains("first failure: rank 0 on h2 could not be started: " + big
                        + " could not be brought to this node: the file has changed since the job began");
    }

    @Test
    void fullDiskIsNamed() throws IOException {
        startOnH1();
        Path big = big();
        Result result =
                job("--hosts=h1", "--stage=" + big, "sh", "-c", "echo never").await();
        assertThat(result.exitCode()).isEqualTo(127);
        assertThat(result.err())
                .contains("first failure: rank 0 on h1 could not be started: " + big
                        + " could not be brought to this node: " + BIG_BYTES + " bytes are needed in "
                        + cache("h1").resolve("jrun/files"));
    }

    @Test
    void timelinesComeFromHostsWithoutTheLogFolder() throws IOException {
        startOnH1();
        startOnH2();
        Jars.program(work.resolve("sums.jar"), "Sums", """
                import io.jrun.comm.*;
                import java.lang.foreign.*;
                import java.nio.file.*;

                public class Sums {
                    public static void main(String[] args) throws Exception {
                        try (World world = Distributed.init()) {
                            var data = MemorySegment.ofArray(new float[2000]);
                            var stop = MemorySegment.ofArray(new int[1]);
                            System.out.println("begun");
                            while (stop.get(ValueLayout.JAVA_INT, 0) == 0) {
                                world.group().allReduce(data, DataType.F32, 2000, ReduceOp.SUM);
                                stop.set(ValueLayout.JAVA_INT, 0, Files.exists(Path.of(args[0])) ? 1 : 0);
                                world.group().allReduce(stop, DataType.I32, 1, ReduceOp.MAX);
                            }
                        }
                    }
                }
                """);
        Path stop = folder.resolve("stop");
        Running job = job("--hosts=h1,h2", "--log-dir=" + apart.resolve("logs"), "apart/wd/sums.jar", stop.toString());
        JRun.waitFor(() -> job.out().contains("[0@h1] begun") && job.out().contains("[1@h2] begun"), "both ranks");
        String logs = apart.resolve("logs").resolve(jrun.runId()).toString();
        ranksOf(jrun.run("trace", logs, "-o", "running.json"), "running.json");
        Files.createFile(stop);
        assertThat(job.await().exitCode()).as(job.err()).isZero();
        ranksOf(jrun.run("trace", logs, "-o", "ended.json"), "ended.json");
    }

    private void ranksOf(Result trace, String file) throws IOException {
        assertThat(trace.exitCode()).as(trace.err()).isZero();
        assertThat(ChromeTraceCheck.events(Files.readString(folder.resolve(file))))
                .filteredOn(event -> event.path("name").asText().equals("allReduce"))
                .extracting(event -> event.path("pid").asInt())
                .contains(0, 1);
    }

    private Path big() throws IOException {
        byte[] content = new byte[BIG_BYTES];
        new Random(1).nextBytes(content);
        return Files.write(work.resolve("big.bin"), content);
    }

    private void awaitUnderWay() {
        JRun.waitFor(
                () -> Files.isDirectory(cache("h2").resolve("jrun/files"))
                        && list(cache("h2").resolve("jrun/files")).stream().anyMatch(StagingIT::hasBytes),
                "the first bytes");
    }

    private static boolean hasBytes(Path file) {
        try {
            return Files.size(file) > 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static List<Path> list(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
