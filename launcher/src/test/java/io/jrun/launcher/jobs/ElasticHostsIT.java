package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that go on when hosts are lost and come, over hosts with a network of their own. */
class ElasticHostsIT extends RealJobs {
    @TempDir
    private static Path ofClass;

    private static TestHosts hosts;
    private static HostAgents agents;

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(4);
        agents = new HostAgents(hosts, ofClass);
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            agents.close();
            hosts.close();
        }
    }

    /** The line of a training job on {@code hosts}, which writes its parameters to {@code out}. */
    private List<String> train(Path out, List<String> hosts, String... arguments) {
        Path home = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));
        List<String> line = new ArrayList<>(hosts);
        line.addAll(List.of(
                "--env=JRUN_DETERMINISTIC=1",
                "--main-class=io.jrun.examples.elastic.TrainElastic",
                home.resolve("examples/train.jar").toString(),
                "--steps=20",
                "--out=" + out));
        line.addAll(List.of(arguments));
        return line;
    }

    private Running start(List<String> line) {
        List<String> words = new ArrayList<>(List.of("--secret-file=" + agents.secret(), "--node-cooldown=1"));
        words.addAll(line);
        return jrun.startUnder(hosts.on("head"), words.toArray(String[]::new));
    }

    private static void awaitAt(Running job, int step, int ranks) {
        JRun.waitFor(
                () -> job.out()
                                .lines()
                                .filter(line -> line.endsWith(" waits at step " + step))
                                .count()
                        >= ranks,
                ranks + " ranks at step " + step);
    }

    @Test
    void aHostIsLostAndAnotherComesAndTheParametersAreThoseOfTheWholeRun() throws IOException {
        agents.start(List.of("h1", "h2", "h3", "h4"));
        Path out = folder.resolve("out");
        Path lost = folder.resolve("lost");
        Path come = folder.resolve("come");
        Running job = start(train(
                out,
                List.of("--hosts=h[1-4]:1", "--nnodes=3:4", "--max-restarts=1"),
                "--hold=5:" + lost,
                "--hold=12:" + come));
        awaitAt(job, 5, 4);
        agents.powerOff("h3");
        JRun.waitFor(() -> Beginning.count(job.out(), 3) == 3, "a world of three");
        Files.writeString(lost, "");
        awaitAt(job, 12, 3);
        agents.start(List.of("h3"));
        JRun.waitFor(() -> Beginning.count(job.out(), 4) == 8, "a world of four again");
        Files.writeString(come, "");
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).contains("restart 1 of 1", "more nodes have joined");

        List<Beginning> all = Beginning.in(result.out());
        List<String> survivors = all.subList(4, 7).stream().map(Beginning::pid).toList();
        assertThat(all.subList(0, 4)).extracting(Beginning::pid).containsAll(survivors);
        assertThat(all.subList(7, 11)).extracting(Beginning::pid).containsAll(survivors);
        assertThat(all.subList(4, 7)).extracting(Beginning::step).containsOnly(5);
        assertThat(all.subList(7, 11)).extracting(Beginning::step).containsOnly(12);

        Path whole = folder.resolve("whole");
        Result calm = jrun.with("XDG_CACHE_HOME", agents.cache().toString())
                .run(train(whole, List.of("--nproc-per-node=1")).toArray(String[]::new));
        assertThat(calm.exitCode()).as(calm.err()).isZero();
        assertThat(largestDifference(out, whole)).isLessThan(1e-6f);
    }

    @Test
    void aSpareTakesThePlaceOfAHostWithoutPower() {
        agents.start(List.of("h1", "h2", "h3"));
        ElasticProgram program = ElasticProgram.in(folder);
        Running job = start(List.of(
                "--hosts=h[1-3]:2",
                "--spares=1",
                "--max-restarts=1",
                program.jar().toString()));
        JRun.waitFor(() -> Beginning.count(job.out(), 4) == 4, "a world of four");
        agents.powerOff("h1");
        JRun.waitFor(() -> Beginning.count(job.out(), 4) == 8, "a world of four again");
        program.finish();
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        List<Beginning> all = Beginning.in(result.out());
        for (int rank : List.of(2, 3)) {
            assertThat(Beginning.pids(all, rank).stream().distinct()).hasSize(1);
        }
        assertThat(result.out()).contains("[0@h3] rank 0 of 4", "[1@h3] rank 1 of 4");
    }

    @Test
    void aHostWhoseWorkersDieAgainAndAgainGivesItsSeatToASpare() {
        agents.start(List.of("h1", "h2", "h3"));
        Result result = start(List.of(
                        "--hosts=h[1-3]:1",
                        "--spares=1",
                        "--max-restarts=3",
                        "--node-cooldown=60",
                        "sh",
                        "-c",
                        "[ $(uname -n) != h2 ] || exit 3; [ $TORCHELASTIC_RESTART_COUNT = 3 ] || exec sleep 1000;"
                                + " echo $RANK of $WORLD_SIZE"))
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut()).containsExactly("[0@h1] 0 of 2", "[1@h3] 1 of 2");
        assertThat(result.err())
                .contains(
                        "restart 3 of 3",
                        "continuing without h2 for now: its workers were the first to fail 3 times",
                        "jrun connects to h2:29600 again in 60 s, attempt 1 of 8");
    }

    /** The hosts have one log folder; the host that comes moves ranks. */
    @Test
    void aSurvivorsFilesStayItsOwnWhenAnotherGetsItsRank() throws IOException {
        agents.start(List.of("h1", "h2"));
        agents.stop("h3");
        ElasticProgram program = ElasticProgram.in(folder);
        Running job = start(List.of(
                "--hosts=h[1-3]:2",
                "--nnodes=2:3",
                "--map-by=node",
                "--max-restarts=1",
                program.jar().toString()));
        JRun.waitFor(() -> Beginning.count(job.out(), 4) == 4, "a world of four");
        agents.start(List.of("h3"));
        JRun.waitFor(() -> Beginning.count(job.out(), 6) == 6, "a world of six");
        program.finish();
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).contains("[2@h1] rank 2 of 4", "[3@h1] rank 3 of 6", "[2@h3] rank 2 of 6");
        Path logs = jrun.logs();
        assertThat(logs.resolve("attempt-0/rank-0002/stdout.log")).content().contains("rank 2 of 4", "rank 3 of 6");
        assertThat(logged(logs, 2)).contains("rank 2 of 6").doesNotContain("rank 2 of 4");
        assertThat(logged(logs, 3)).contains("rank 2 of 4", "rank 3 of 6");
    }

    private String logged(Path logs, int rank) {
        return jrun.run("logs", logs.toString(), "--rank=" + rank).out();
    }

    @Test
    void workersThatAreNotElasticAreStartedAgainOnTheHostsThatAreLeft() {
        agents.start(List.of("h1", "h2"));
        Running job = start(List.of(
                "--hosts=h[1-2]:2",
                "--nnodes=1:2",
                "--max-restarts=1",
                "sh",
                "-c",
                "echo $RANK of $WORLD_SIZE in attempt $TORCHELASTIC_RESTART_COUNT;"
                        + " while [ $TORCHELASTIC_RESTART_COUNT = 0 ]; do sleep 0.05; done"));
        JRun.waitFor(() -> job.out().lines().count() == 4, "four workers");
        agents.powerOff("h1");
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactly(
                        "[0@h1] 0 of 4 in attempt 0",
                        "[0@h2] 0 of 2 in attempt 1",
                        "[1@h1] 1 of 4 in attempt 0",
                        "[1@h2] 1 of 2 in attempt 1",
                        "[2@h2] 2 of 4 in attempt 0",
                        "[3@h2] 3 of 4 in attempt 0");
        assertThat(jrun.logs().resolve("agent-h2.log"))
                .content()
                .contains(" round 1 is aborted: the agent of h1 was lost");
    }

    /** Compares two files of parameters in the same order. */
    private static float largestDifference(Path one, Path other) throws IOException {
        FloatBuffer first = parameters(one);
        FloatBuffer second = parameters(other);
        assertThat(first.limit()).isEqualTo(second.limit()).isPositive();
        float largest = 0;
        for (int i = 0; i < first.limit(); i++) {
            largest = Math.max(largest, Math.abs(first.get(i) - second.get(i)));
        }
        return largest;
    }

    /** safetensors: the length of a header, the header, the numbers. */
    private static FloatBuffer parameters(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(Math.toIntExact(Long.BYTES + bytes.getLong(0)));
        return bytes.slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    }
}
