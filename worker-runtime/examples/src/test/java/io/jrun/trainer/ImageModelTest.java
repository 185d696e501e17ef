package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.ImageModel;
import io.jrun.train.Libtorch;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Samples that are not tokens: all meshes have the parameters of one rank, and the model learns. */
class ImageModelTest {
    private static final List<String> MESHES = List.of(
            "2 --dp=2",
            "2 --shard=2",
            "2 --pp=2",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --pp=2 --dp=2 --recompute=1");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void imagesAreTrainedOnAsTokensAre() {
        Path one = folder.resolve("one");
        RecordedTraining alone = RecordedTraining.run("1", ImageModel.program(), "--checkpoint=" + one);
        Map<String, double[]> expected = CheckpointContents.of(one, 5);
        for (String mesh : CasesOfSeed.draw(MESHES, 2)) {
            Path saved = folder.resolve(mesh.replaceAll("\\W+", "-"));
            RecordedTraining found = RecordedTraining.run(mesh, ImageModel.program(), "--checkpoint=" + saved);
            CheckpointContents.assertClose(CheckpointContents.of(saved, 5), expected, 1e-12, mesh);
            assertThat(found.heldOut(0).getFirst()).isCloseTo(alone.heldOut(0).getFirst(), Offset.offset(1e-6));
        }
        RecordedTraining learned = RecordedTraining.run(
                "1",
                ImageModel.program(),
                "--steps=150",
                "--global-batch=16",
                "--micro-batch=16",
                "--lr=0.02",
                "--parameters=f32");
        assertThat(alone.heldOut(0).getFirst()).isGreaterThan(0.9);
        assertThat(learned.heldOut(0).getFirst()).isLessThan(0.5);
        assertThat(learned.printed())
                .containsPattern("training \\d\\d?\\.\\dK parameters \\(ImageModel, ")
                .contains("on 2000 samples, 1 rank x 16 samples, 150 steps")
                .containsPattern("step 150/150 loss \\S+ \\d+ samples/s")
                .containsPattern("held-out loss 0\\.\\d{4}\\R");
    }
}
