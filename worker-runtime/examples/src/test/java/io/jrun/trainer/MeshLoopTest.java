package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.own.MeshLoop;
import io.jrun.train.Libtorch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The loop by hand of docs/sharding.md. */
class MeshLoopTest {
    private static final Path SOURCE = Path.of("src/main/java/io/jrun/examples/own/MeshLoop.java");
    private static final int STEPS = 6;
    private static final int LINES = 60;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /**
     * Training is in float32, and the norm of parts is added in another order than that of whole gradients. AdamW moves an
     * element by up to the learning rate for a gradient of rounding errors alone.
     */
    @Test
    void fourRanksHaveTheParametersOfOneRankAlsoAfterAResume() {
        Map<String, double[]> expected = train("one", 1, 1, STEPS);
        assertThat(expected).containsKeys("model.block3.attention.qkv.weight", "optimizer.head.logits.weight.exp_avg");
        Map<String, double[]> whole = train("mesh", 4, 2, STEPS);
        CheckpointContents.assertClose(states(whole), states(expected), 2e-5, "shard 2 x tp 2");
        CheckpointContents.assertClose(whole, expected, 1e-3, "shard 2 x tp 2");
        Map<String, double[]> _ = train("resumed", 4, 2, STEPS / 2);
        CheckpointContents.assertSame(train("resumed", 4, 2, STEPS), whole, "resumed");
    }

    private static Map<String, double[]> states(Map<String, double[]> tensors) {
        Map<String, double[]> states = new TreeMap<>(tensors);
        states.keySet().removeIf(name -> !name.startsWith("optimizer."));
        return states;
    }

    /** The page shows the whole file. */
    @Test
    void theLoopIsShortAndInTheDocuments() throws IOException {
        String source = Files.readString(SOURCE);
        assertThat(source.lines().count()).isLessThanOrEqualTo(LINES);
        String body = source.substring(source.indexOf("        var model"), source.lastIndexOf("    }\n"));
        assertThat(Files.readString(Path.of("../../docs/sharding.md")))
                .contains(body.stripTrailing().stripIndent());
    }

    private Map<String, double[]> train(String name, int ranks, int tp, long steps) {
        Path out = folder.resolve(name);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> MeshLoop.train(world, tp, steps, out.toString()));
        return CheckpointContents.of(out, steps);
    }
}
