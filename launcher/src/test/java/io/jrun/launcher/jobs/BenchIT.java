package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** jrun bench with real ranks. That every backend moves every operation's data is tested beside the backends. */
class BenchIT extends RealJobs {
    /** One case, drawn by the seed of the run; all cases under {@code -Djrun.soak=true}. */
    static Stream<Arguments> backendsOnEveryMemoryTakeTurns() {
        return drawn(1, List.of("allreduce, i64, max", "alltoall, f32, sum", "sendrecv, f32, sum"));
    }

    /** One case, drawn by the seed of the run; all cases under {@code -Djrun.soak=true}. */
    static Stream<Arguments> everyOperationIsChecked() {
        return drawn(
                1,
                List.of(
                        "allgather, i8, sum",
                        "reducescatter, f64, avg",
                        "broadcast, bool, sum",
                        "reduce, f32, prod",
                        "gather, i32, sum",
                        "scatter, u8, sum",
                        "barrier, f32, sum"));
    }

    private static Stream<Arguments> drawn(int count, List<String> cases) {
        return RunSeed.sample(cases, count).stream().map(words -> Arguments.of((Object[]) words.split(", ", -1)));
    }

    @ParameterizedTest
    @MethodSource
    void backendsOnEveryMemoryTakeTurns(String operation, String type, String op) throws IOException {
        if (!hasMpi()) {
            System.out.println("BenchIT: mpirun is not on the PATH, so the mpi backend is left out");
        }
        String backends = hasMpi() ? "jrun,gloo,mpi" : "jrun,gloo";
        everythingIsRight(operation, type, op, backends, "registered,heap,direct,tensor");
    }

    @ParameterizedTest
    @MethodSource
    void everyOperationIsChecked(String operation, String type, String op) throws IOException {
        everythingIsRight(operation, type, op, "jrun", "registered,heap");
    }

    private void everythingIsRight(String operation, String type, String op, String backends, String memories)
            throws IOException {
        Result result = jrun.run(
                "bench",
                operation,
                "--nproc-per-node=2",
                "--backend=" + backends,
                "--memory=" + memories,
                "--type=" + type,
                "--op=" + op,
                "--min-bytes=4",
                "--max-bytes=300K",
                "--step-factor=40000",
                "--iters=1",
                "--warmup-iters=1",
                "--json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        List<JsonNode> rows = new ArrayList<>();
        for (String line : result.out().lines().toList()) {
            rows.add(new JsonMapper().readTree(line));
        }
        int peers = memories.split(",").length - 1 + backends.split(",").length;
        int sizes = operation.equals("barrier") ? 1 : 2;
        assertThat(rows).as(result.out()).hasSize(peers * sizes);
        assertThat(rows).allSatisfy(row -> {
            assertThat(row.get("op").asText()).isEqualTo(operation);
            assertThat(row.get("type").asText()).isEqualTo(type);
            assertThat(row.get("ranks").asInt()).isEqualTo(2);
            assertThat(row.get("nodes").asInt()).isEqualTo(1);
            assertThat(row.get("errors").asLong()).as(row.toString()).isZero();
            assertThat(row.get("medianMicros").asDouble()).isPositive();
            assertThat(row.has("minMicros") && row.has("algGBps") && row.has("busGBps"))
                    .isTrue();
        });
        assertThat(rows.stream().map(row -> row.get("backend").asText()).distinct())
                .containsExactly(backends.split(","));
    }

    /** Which arguments are wrong is bench's test. */
    @Test
    void wrongArgumentsAreOneLine() {
        Result result = jrun.run("bench", "--nproc-per-node=2", "allreduce", "--type=x");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err().lines()).hasSize(1);
        assertThat(result.err()).startsWith("jrun: bench: ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"bench allreduce --nproc-per-node=2 -h", "bench -V"})
    void helpStartsNoJob(String line) {
        Result result = jrun.run(line.split(" "));
        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.out()).startsWith(line.endsWith("-V") ? "jrun " : "Usage: jrun bench");
        assertThat(folder.resolve("logs")).doesNotExist();
    }

    /** The idle part is not asserted: a busy machine adds to it. */
    @Test
    void pipelineSchedulesAreMeasuredBesideTheFormula() throws IOException {
        Result result = jrun.run(
                "bench", "pipeline", "--nproc-per-node=2", "--schedule=1f1b", "--unit-millis=5", "--steps=1", "--json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        JsonNode row = new JsonMapper().readTree(result.out());
        assertThat(row.get("schedule").asText()).isEqualTo("1f1b");
        assertThat(row.get("formula").asDouble()).isEqualTo(0.11111);
        assertThat(row.get("stepMillis").asDouble()).isGreaterThanOrEqualTo(9 * 3 * 5);
        assertThat(row.get("bubble").asDouble()).isPositive();
    }

    /** The times are not asserted. */
    @Test
    void checkpointsAreMeasuredBesideDdAndCopies() throws IOException {
        Path place = folder.resolve("bench");
        Result result = jrun.run(
                "bench", "checkpoint", "--nproc-per-node=2", "--dir=" + place, "--bytes=8M", "--iters=2", "--json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        JsonNode row = new JsonMapper().readTree(result.out());
        assertThat(List.of(
                        "dd",
                        "save",
                        "mappedCopy",
                        "load",
                        "plainCopy",
                        "stallOfSaveAsync",
                        "twoPlainCopies",
                        "peerSnapshot"))
                .allSatisfy(name ->
                        assertThat(row.get(name + "Millis").asDouble()).as(name).isPositive());
        assertThat(place).isEmptyDirectory();
    }

    /** The kernel counts the bytes: one rank reads the file for its node, or each rank reads the file. */
    @Test
    void theBytesThatRanksReadOfAModelAreCounted() throws IOException {
        Path place = folder.resolve("bench");
        Result result = jrun.run(
                "bench", "weights", "--nproc-per-node=2", "--dir=" + place, "--bytes=16M", "--iters=1", "--json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        Map<String, Double> read = new HashMap<>();
        for (String line : result.out().lines().toList()) {
            JsonNode row = new JsonMapper().readTree(line);
            read.put(
                    row.get("readers").asText(),
                    row.get("bytesRead").asDouble() / row.get("fileBytes").asDouble());
        }
        assertThat(read).containsOnlyKeys("every-rank", "one-per-node", "rank-0");
        assertThat(read.get("every-rank")).isBetween(2.0, 2.1);
        assertThat(read.get("one-per-node")).isBetween(1.0, 1.05);
        assertThat(read.get("rank-0")).isBetween(1.0, 1.05);
        assertThat(place).isEmptyDirectory();
    }

    @Test
    void completionKnowsTheBenchmarks() {
        assertThat(jrun.run("completion").out()).contains("allreduce", "--warmup-iters");
    }

    @Test
    void tunedTableIsWrittenAndRead() throws IOException {
        jrun.with("JRUN_TRANSPORT", "Tcp"); // as jrun reads it, in any case
        Path table = folder.resolve("table.txt");
        Result result = jrun.run(
                "bench",
                "--tune",
                "--nproc-per-node=2",
                "--operations=broadcast",
                "--min-bytes=1K",
                "--max-bytes=64K",
                "--step-factor=64",
                "--iters=1",
                "--output=" + table);
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).contains("tree ", "chain ", "written to " + table);
        assertThat(table).content().startsWith("# jrun tuning 1\n").containsPattern("broadcast 2 max (tree|chain)\n");
        jrun.with("JRUN_TUNING", table.toString());
        Result tuned = broadcast();
        assertThat(tuned.exitCode()).as(tuned.err()).isZero();
        Files.writeString(table, Files.readString(table).replace("max", "most"));
        Result unread = broadcast();
        assertThat(unread.exitCode()).isEqualTo(2);
        assertThat(unread.err()).contains("JRUN_TUNING: " + table + ", line ", "up-to-bytes is 'most'");
    }

    private Result broadcast() {
        return jrun.run(
                "bench", "broadcast", "--nproc-per-node=2", "--max-bytes=4", "--iters=1", "--warmup-iters=1", "--json");
    }

    /** That not one object is left once all is compiled is comm's test. */
    @Test
    void registeredAllReduceTakesLessThanACopy() throws IOException {
        Result result =
                jrun.run("bench", "memory", "--nproc-per-node=2", "--bytes=16M", "--calls=30", "--warmup-iters=5000");
        assertThat(result.exitCode()).as(result.err()).isZero();
        JsonNode found = new JsonMapper().readTree(result.out());
        assertThat(found.get("allocatedBytesPerCall").asLong()).as(result.out()).isBetween(0L, 1L << 10);
        assertThat(found.get("extraBytes").asLong()).as(result.out()).isLessThan(16 << 20);
    }

    /** On a machine that other programs use, a small call takes milliseconds. */
    @Test
    void theMemoryOfACallIsShownWhenTheTimeHasPassed() throws IOException {
        Result result = jrun.run(
                "bench", "memory", "--nproc-per-node=2", "--bytes=64K", "--warmup-iters=2147483647", "--max-seconds=4");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err())
                .containsPattern("jrun bench memory: \\d+ of 2147483647 small calls")
                .containsPattern("the time of --max-seconds=4 has passed after \\d+ of 2147483647 small and");
        JsonNode found = new JsonMapper().readTree(result.out());
        assertThat(found.get("smallCalls").asInt()).isBetween(1, Integer.MAX_VALUE - 1);
        assertThat(found.get("calls").asInt()).isPositive();
    }

    /** One case, drawn by the seed of the run; all cases under {@code -Djrun.soak=true}. */
    static Stream<String> aSizeBeyondTheMemoryIsOneLine() {
        return RunSeed.sample(
                List.of(
                        "allreduce --max-bytes",
                        "memory --bytes",
                        "weights --dir=x --bytes",
                        "checkpoint --dir=x --bytes"),
                1)
                .stream();
    }

    /** Only a rank knows the memory of its machine. */
    @ParameterizedTest
    @MethodSource
    void aSizeBeyondTheMemoryIsOneLine(String option) {
        Result result = jrun.run(("bench " + option + "=9223372036854775807 --nproc-per-node=1").split(" "));
        assertThat(result.exitCode()).as(result.err()).isEqualTo(2);
        assertThat(result.err())
                .contains(
                        "bytes=9223372036854775807 needs ",
                        " GB of memory for the 1 ranks of a node, this machine has ")
                .doesNotContain("Exception", "\tat ");
    }

    @Test
    void doctorNamesEveryBackend() {
        Result result = jrun.run("doctor");
        assertThat(result.out().lines().map(line -> line.substring(9)))
                .anyMatch(line -> line.startsWith("backend jrun"))
                .anyMatch(line -> line.matches("backend gloo +available.*"))
                .anyMatch(line -> line.startsWith("backend mpi"))
                .anyMatch(line -> line.startsWith("backend nccl"))
                .anyMatch(line -> line.startsWith("jdk"));
    }

    private static boolean hasMpi() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "mpirun")));
    }
}
