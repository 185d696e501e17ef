package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** train.jar on a mesh of processes. */
class MeshIT extends RealJobs {
    private static final String LAST = "step-00000012";

    /** Two hosts with two processes each; the stages of the pipeline are on different hosts. */
    @Test
    void aMeshOverTwoHostsHasTheParametersOfOneRank() throws IOException {
        try (TestHosts hosts = TestHosts.up(2);
                HostAgents agents = new HostAgents(hosts, folder)) {
            agents.start(List.of("h1", "h2"));
            Result spread = jrun.startUnder(
                            hosts.on("head"),
                            train(
                                    "spread",
                                    List.of("--secret-file=" + agents.secret(), "--hosts=h1:2,h2:2"),
                                    "--tp=2",
                                    "--pp=2",
                                    "--sequence-parallel"))
                    .await();
            assertThat(spread.exitCode()).as(spread.err()).isZero();
        }
        float[] found = parameters("spread", "--resume");
        assertThat(found).usingComparatorWithPrecision(1e-6f).containsExactly(parameters("alone"));
    }

    /**
     * One mesh of two ranks, drawn by the seed of the run. All meshes under {@code -Djrun.soak=true}, also meshes of
     * several axes, copies of shared stages, and shared states.
     */
    static Stream<Arguments> killedMeshes() {
        Stream<Arguments> drawn = RunSeed.sample(
                List.of(
                        Arguments.of("--tp=2", 1, "pp=0 dp=0 shard=0 cp=0 tp=1"),
                        Arguments.of("--pp=2 --schedule=zb1p", 1, "pp=1 dp=0 shard=0 cp=0 tp=0"),
                        Arguments.of("--cp=2", 1, "pp=0 dp=0 shard=0 cp=1 tp=0")),
                1)
                .stream();
        return Boolean.getBoolean("jrun.soak")
                ? Stream.concat(
                        drawn,
                        Stream.of(
                                Arguments.of("--tp=2 --pp=2 --schedule=zb1p", 3, "pp=1 dp=0 shard=0 cp=0 tp=1"),
                                Arguments.of("--pp=2 --dp=2 --schedule=zb1p", 2, "pp=1 dp=0 shard=0 cp=0 tp=0"),
                                Arguments.of("--tp=2 --dp=2", 3, "pp=0 dp=1 shard=0 cp=0 tp=1"),
                                Arguments.of("--tp=2 --pp=2 --schedule=zb1p --dp=2", 5, "pp=1 dp=0 shard=0 cp=0 tp=1"),
                                Arguments.of("--tp=2 --pp=2 --shard=2", 5, "pp=1 dp=0 shard=0 cp=0 tp=1"),
                                Arguments.of(
                                        "--tp=2 --pp=2 --shard=2 --zero=1 --optimizer=fused",
                                        5,
                                        "pp=1 dp=0 shard=0 cp=0 tp=1")))
                : drawn;
    }

    @ParameterizedTest
    @MethodSource("killedMeshes")
    void aKilledRankIsNamedWithItsPlaceAndTheJobGoesOnWithTheSameBits(String flags, int victim, String place)
            throws IOException {
        String ranks = "--nproc-per-node=" + (victim > 3 ? 8 : victim > 1 ? 4 : 2);
        String[] mesh = (flags + " --checkpoint-every=3").split(" ", -1);
        Result whole = jrun.start(train("whole", List.of(ranks), mesh)).await();
        assertThat(whole.exitCode()).as(whole.err()).isZero();

        Running job = jrun.start(train("killed", List.of(ranks, "--max-restarts=1"), mesh));
        job.awaitOutput("checkpoint of step 3 ");
        JRun.kill("KILL", pid(victim));
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err())
                .containsPattern("rank " + victim + " on \\S+ \\(" + place + "\\) ended by SIGKILL")
                .contains("restart 1 of 1");
        assertThat(parts("killed")).isEqualTo(parts("whole"));
    }

    private String[] train(String name, List<String> options, String... more) throws IOException {
        Path text = Files.writeString(
                folder.resolve("text"), "It was the best of times, it was the worst of times. ".repeat(2_000));
        List<String> words = new ArrayList<>(options);
        words.addAll(List.of(
                "--env=JRUN_DETERMINISTIC=1",
                Path.of(Objects.requireNonNull(System.getProperty("jrun.home")))
                        .resolve("examples/train.jar")
                        .toString(),
                "--data=" + text,
                "--tiny",
                "--layers=2",
                "--width=32",
                "--context=32",
                "--steps=12",
                "--log-every=1",
                "--micro-batch=2",
                "--accumulate=4",
                "--optimizer=sgd",
                "--resume",
                "--checkpoint=" + folder.resolve(name)));
        words.addAll(List.of(more));
        return words.toArray(String[]::new);
    }

    /** The parameters of a run that one rank ends, in the order of their names. */
    private float[] parameters(String name, String... more) throws IOException {
        Path file = folder.resolve(name + ".safetensors");
        String[] out =
                Stream.concat(Stream.of("--out=" + file), Stream.of(more)).toArray(String[]::new);
        Result result =
                jrun.start(train(name, List.of("--nproc-per-node=1"), out)).await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        long header = bytes.getLong();
        bytes.position(Math.toIntExact(Long.BYTES + header));
        float[] values = new float[bytes.remaining() / Float.BYTES];
        bytes.asFloatBuffer().get(values);
        return values;
    }

    /** The digests of the parts of the last checkpoint. The names of parts are random. */
    private List<String> parts(String name) throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve(name).resolve(LAST))) {
            List<String> digests = new ArrayList<>();
            for (Path file : files.filter(file -> file.toString().endsWith(".safetensors"))
                    .toList()) {
                digests.add(digest(file));
            }
            assertThat(digests).isNotEmpty();
            return digests.stream().sorted().toList();
        }
    }

    private static String digest(Path file) throws IOException {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
            return new BigInteger(1, digest).toString(16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private String pid(int rank) throws IOException {
        Pattern started = Pattern.compile("\"workerStarted\".*\"rank\":" + rank + ",\"pid\":(\\d+)");
        return Files.readString(jrun.logs().resolve("events.jsonl"))
                .lines()
                .map(started::matcher)
                .filter(Matcher::find)
                .map(found -> found.group(1))
                .findFirst()
                .orElseThrow();
    }
}
