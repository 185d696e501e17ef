package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.own.MeshLoop;
import io.jrun.examples.own.OwnModel;
import io.jrun.train.Libtorch;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.pytorch.global.torch;
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
     * In float64. In float32 no small tolerance is right: AdamW moves an element by up to the learning rate for a gradient
     * of rounding errors alone, such as that of the bias of the keys. In float64 such a gradient is far below AdamW's
     * epsilon.
     */
    @Test
    void fourRanksHaveTheParametersOfOneRankAlsoAfterAResume() {
        Map<String, double[]> expected = train("one", 1, 1, STEPS);
        assertThat(expected).containsKeys("model.block3.attention.qkv.weight", "optimizer.head.logits.weight.exp_avg");
        Map<String, double[]> whole = train("mesh", 4, 2, STEPS);
        CheckpointContents.assertClose(whole, expected, 1e-12, "shard 2 x tp 2");
        Map<String, double[]> _ = train("resumed", 4, 2, STEPS / 2);
        CheckpointContents.assertSame(train("resumed", 4, 2, STEPS), whole, "resumed");
    }

    /** The page shows the whole file. */
    @Test
    void theLoopIsShortAndInTheDocuments() throws IOException {
        String source = Files.readString(SOURCE);
        assertThat(source.lines().count()).isLessThanOrEqualTo(LINES);
        String body = source.substring(source.indexOf("        var mesh"), source.lastIndexOf("    }\n"));
        assertThat(Files.readString(Path.of("../../docs/sharding.md")))
                .contains(body.stripTrailing().stripIndent());
    }

    private Map<String, double[]> train(String name, int ranks, int tp, long steps) {
        Path out = folder.resolve(name);
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            LayeredModel model = new OwnModel(new ModelSetup(64, 16, Device.CPU, 1)).build();
            model.to(torch.ScalarType.Double, false);
            MeshLoop.train(model, world, tp, steps, out.toString());
        });
        return CheckpointContents.of(out, steps);
    }
}
