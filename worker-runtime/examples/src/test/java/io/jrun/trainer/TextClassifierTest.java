package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.TextClassifier;
import io.jrun.train.Libtorch;
import io.jrun.trainer.data.TrainingData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A transformer with classes of another number than its tokens: all meshes have the parameters of one rank. */
class TextClassifierTest {
    private static final Path SOURCE = Path.of("src/main/java/io/jrun/examples/own/TextClassifier.java");
    private static final int LINES = 60;

    private static final List<String> MESHES =
            List.of("4 --tp=2 --pp=2 --recompute=1", "4 --shard=2 --dp=2", "2 --zero=1 --shard=2 --optimizer=fused");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aMeshHasTheParametersOfOneRankAlsoAfterAResume() {
        Map<String, double[]> expected = train("one", "1");
        assertThat(expected.get("model.head.logits.bias")).hasSize(2);
        assertThat(expected.get("model.embedding.tokens.weight")).hasSize(20 * 64);
        for (String mesh : CasesOfSeed.draw(MESHES, 1)) {
            CheckpointContents.assertClose(train("drawn", mesh), expected, 1e-12, mesh);
        }
        Map<String, double[]> whole = train("mesh", "4 --tp=2 --shard=2");
        CheckpointContents.assertClose(whole, expected, 1e-12, "shard 2 x tp 2");
        String saved = "--checkpoint=" + folder.resolve("resumed");
        RecordedTraining _ = RecordedTraining.run(2, "4 --tp=2 --shard=2", TextClassifier.program(), saved);
        RecordedTraining again =
                RecordedTraining.run("4 --tp=2 --shard=2", TextClassifier.program(), saved, "--resume");
        assertThat(again.printed()).contains("from step 2 to 5");
        CheckpointContents.assertSame(CheckpointContents.of(folder.resolve("resumed"), 5), whole, "resumed");
    }

    @Test
    void theModelLearns() {
        RecordedTraining learned = RecordedTraining.run(
                "1",
                TextClassifier.program(),
                "--steps=150",
                "--global-batch=16",
                "--micro-batch=16",
                "--parameters=f32");
        assertThat(learned.heldOut(0).getFirst()).isLessThan(0.2);
        assertThat(learned.printed()).contains("on 1800 samples, 1 rank x 16 samples, 150 steps");
    }

    private Map<String, double[]> train(String name, String mesh) {
        RecordedTraining _ =
                RecordedTraining.run(mesh, TextClassifier.program(), "--checkpoint=" + folder.resolve(name));
        return CheckpointContents.of(folder.resolve(name), 5);
    }

    @Test
    void theMeanOfAllPositionsRefusesPartsOfTexts() {
        assertThatThrownBy(() -> RecordedTraining.run("2 --cp=2", TextClassifier.program()))
                .hasStackTraceContaining("the model does not say that ranks can share its sequences");
    }

    @Test
    void theProgramIsShortAndInTheDocuments() throws IOException {
        String source = Files.readString(SOURCE);
        assertThat(source.lines().count()).isLessThanOrEqualTo(LINES);
        String shown =
                source.substring(source.indexOf("    /** The model and"), source.indexOf("    private static long[]"));
        assertThat(Files.readString(Path.of("../../docs/trainer.md")))
                .contains(shown.stripTrailing().stripIndent());
    }

    @Test
    void aTrainingWithoutSamplesIsRefused() {
        assertThatThrownBy(() -> TrainingData.of(List.<Tensor>of(), List.of(), 2, _ -> {
                    throw new IllegalStateException("no samples");
                }))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a training has at least one sample and one class, but there are 0 samples and 2 classes");
    }
}
