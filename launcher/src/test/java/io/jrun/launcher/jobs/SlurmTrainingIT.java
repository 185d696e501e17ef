package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * The training example on a real Slurm cluster, from nothing but {@code jrun train.jar}, and the scripts that users
 * start from. Soak, also 16 workers: -Djrun.soak=true.
 */
class SlurmTrainingIT extends SlurmJobs {
    private static final int WORKERS = 16;
    private static final int REQUEUES = Boolean.getBoolean("jrun.soak") ? 50 : 1;
    private static final int LONG_STEPS = 60;
    private static final String TEXT = "It was the best of times, it was the worst of times. ".repeat(2_000);
    private static final String LONG = JRUN + " --env JRUN_DETERMINISTIC=1 --jvm-opts=-XX:TieredStopAtLevel=1 "
            + System.getProperty("jrun.home") + "/examples/train.jar --tiny --log-every=1 --data=text --steps="
            + LONG_STEPS + " ";
    private static final List<String> TWO_NODES = List.of("--nodes=2", "--gpus-per-node=" + WORKERS / 2);
    private static final List<String> ONE_NODE = List.of("--nodes=1", "--ntasks-per-node=" + WORKERS);

    /** With two workers, {@link #aTrainingThatIsQueuedAgainHasTheBitsOfAnUninterruptedOne} shows the same. */
    @Test
    @EnabledIfSystemProperty(named = "jrun.soak", matches = "true")
    void twoNodesTrainWhatOneDoesBitForBit() throws IOException {
        assertThat(train("two", TWO_NODES, "1")).isEqualTo(train("one", ONE_NODE, "1"));
    }

    /** The sums come in another order then. */
    @Test
    @EnabledIfSystemProperty(named = "jrun.soak", matches = "true")
    void twoNodesTrainWhatOneDoes() throws IOException {
        FloatBuffer two = parameters(train("two", TWO_NODES, "0"));
        FloatBuffer one = parameters(train("one", ONE_NODE, "0"));
        assertThat(two.remaining()).isEqualTo(one.remaining());
        while (one.hasRemaining()) {
            assertThat(two.get()).isCloseTo(one.get(), within(1e-6f));
        }
    }

    /**
     * Two workers on one node, and one worker on each of two nodes: Slurm ends the second job in the middle of the
     * training and starts the job again. Soak: 50 times.
     */
    @Test
    void aTrainingThatIsQueuedAgainHasTheBitsOfAnUninterruptedOne() throws IOException {
        Files.writeString(folder.resolve("text"), TEXT);
        String whole = submit(List.of("--nodes=1", "--ntasks-per-node=2"), LONG + "--out=whole");
        assertThat(cluster.awaitEnd(folder, whole))
                .as(TestCluster.output(folder, whole))
                .isEqualTo("COMPLETED");
        for (int run = 0; run < REQUEUES; run++) {
            String out = "requeued-" + run;
            String job = submit(
                    List.of("--nodes=2", "--gpus-per-node=1", "--requeue", "--open-mode=append"),
                    LONG + "--out=" + out + " --checkpoint=checkpoints-" + run
                            + " --checkpoint-every=1 --checkpoint-async ${SLURM_RESTART_COUNT:+--resume}");
            TestCluster.awaitOutput(folder, job, "step " + (2 + RunSeed.offset(20) + run % 20) + "/" + LONG_STEPS);
            cluster.requeue(job);
            String state = cluster.awaitEnd(folder, job);
            String output = TestCluster.output(folder, job);
            assertThat(state).as(output).isEqualTo("COMPLETED");
            assertThat(output).contains(" from step ");
            assertThat(folder.resolve(out)).as(output).hasSameBinaryContentAs(folder.resolve("whole"));
        }
    }

    @Test
    void readyScriptsRunAsTheyAre() throws IOException {
        Map<String, Integer> workers = Map.of("train.sh", 16, "resume.sh", 16, "cpus.sh", 8);
        Path scripts = JRun.SCRIPTS.resolve("sbatch");
        try (var files = Files.list(scripts)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrderElementsOf(workers.keySet());
        }
        workers.forEach((script, count) -> {
            List<String> words = new ArrayList<>(List.of("env", "JRUN=" + JRUN));
            environment().forEach((name, value) -> words.add(name + "=" + value));
            words.addAll(List.of("sbatch", "--parsable", "--chdir=" + folder, "" + scripts.resolve(script)));
            words.addAll(List.of("sh", "-c", "echo rank $RANK of $WORLD_SIZE"));
            String job = cluster.slurm(words.toArray(String[]::new));
            String state = cluster.awaitEnd(folder, job);
            assertThat(folder.resolve("train-" + job + ".out"))
                    .content()
                    .as(script)
                    .satisfies(output -> assertThat(output.lines().filter(line -> line.startsWith("[")))
                            .as(output)
                            .hasSize(count)
                            .allMatch(line -> line.endsWith("of " + count)));
            assertThat(state).as(script).isEqualTo("COMPLETED");
        });
    }

    /** The parameters that the workers have trained; they start twice as fast with one of the JVM's compilers. */
    private ByteBuffer train(String name, List<String> options, String deterministic) throws IOException {
        Files.writeString(folder.resolve("text"), TEXT);
        String job = submit(
                options,
                JRUN + " --env JRUN_DETERMINISTIC=" + deterministic + " --jvm-opts=-XX:TieredStopAtLevel=1 "
                        + System.getProperty("jrun.home")
                        + "/examples/train.jar --tiny --steps=3 --data=text --out="
                        + name);
        String state = cluster.awaitEnd(folder, job);
        assertThat(state).as(TestCluster.output(folder, job)).isEqualTo("COMPLETED");
        assertThat(TestCluster.output(folder, job)).contains(WORKERS + " ranks x 8 sequences");
        return ByteBuffer.wrap(Files.readAllBytes(folder.resolve(name)));
    }

    /** A safetensors file: a header after its length, then float32 numbers only. */
    private static FloatBuffer parameters(ByteBuffer file) {
        ByteBuffer bytes = file.order(ByteOrder.LITTLE_ENDIAN);
        int header = Math.toIntExact(bytes.getLong());
        return bytes.position(bytes.position() + header)
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
    }
}
