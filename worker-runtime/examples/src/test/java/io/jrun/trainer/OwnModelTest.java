package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.ConvolutionModel;
import io.jrun.examples.own.OwnModel;
import io.jrun.train.Libtorch;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The models of own-model.jar on several meshes: all have the parameters of one rank. A step has 4 sequences. */
class OwnModelTest {
    private static final int STEPS = 5;
    private static final int DRAWN = 3;

    private static final List<String> MESHES = List.of(
            "4 --tp=2 --shard=2",
            "4 --pp=2 --dp=2",
            "4 --shard=4",
            "4 --zero=1 --shard=2 --tp=2 --optimizer=fused",
            "4 --cp=2 --shard=2",
            "8 --tp=2 --pp=2 --shard=2 --schedule=interleaved",
            "4 --tp=4 --sequence-parallel --recompute=2",
            "4 --cp=4 --cp-exchange=ulysses",
            "4 --pp=4 --schedule=zb1p",
            "4 --shard=2 --dp=2 --reshard-after-forward=no",
            "8 --tp=2 --cp=2 --pp=2",
            "2 --zero=2 --shard=2 --optimizer=fused",
            "4 --pp=2 --shard=2 --zero=2 --optimizer=fused --schedule=zbv",
            "3 --pp=3 --micro-batch=1");

    /** The meshes of a model without jrun's layers. */
    private static final List<String> MESHES_OF_LIBTORCHS_LAYERS = List.of(
            "4 --dp=4",
            "2 --shard=2",
            "2 --shard=2 --zero=1 --optimizer=fused",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --shard=2 --dp=2 --recompute=1",
            "4 --pp=2 --shard=2");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aModelOfJrunsLayersHasTheParametersOfOneRank() {
        Map<String, double[]> expected = train("one", OwnModel::new, "1 --dp=1");
        assertThat(expected).containsKeys("model.block3.attention.qkv.weight", "model.head.weight");
        for (String mesh : CasesOfSeed.draw(MESHES, DRAWN)) {
            CheckpointContents.assertClose(train(mesh, OwnModel::new, mesh), expected, 1e-12, mesh);
        }
    }

    @Test
    void aModelOfLibtorchsLayersHasTheParametersOfOneRank() {
        Map<String, double[]> expected = train("one", ConvolutionModel::new, "1 --dp=1");
        assertThat(expected).containsKeys("model.block3.mix.weight");
        for (String mesh : CasesOfSeed.draw(MESHES_OF_LIBTORCHS_LAYERS, 2)) {
            CheckpointContents.assertClose(train(mesh, ConvolutionModel::new, mesh), expected, 1e-12, mesh);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "2 --tp=2;--tp=2: the model has no plan by which ranks share its layers",
                "2 --cp=2;--cp and --sequence-parallel: the model does not say that ranks can share its sequences",
                "2 --ep=2;--ep needs a model with experts",
                "1 --layers=3;unknown option '--layers=3'"
            })
    void whatTheModelCannotDoIsOneLine(String meshAndMessage) {
        String[] parts = meshAndMessage.split(";", 2);
        assertThatThrownBy(() -> train("bad", ConvolutionModel::new, parts[0])).hasStackTraceContaining(parts[1]);
    }

    @Test
    void aTransformerIsShort() throws IOException {
        Path source = Path.of("src/main/java/io/jrun/examples/own/OwnModel.java");
        assertThat(Files.readString(source).lines().count()).isLessThanOrEqualTo(60);
    }

    private Map<String, double[]> train(String name, ModelFactory model, String mesh) {
        String[] words = mesh.split(" ");
        Path saved = folder.resolve(name.replaceAll("\\W+", "-"));
        TrainingArguments options = TrainingArguments.parse(
                        Stream.concat(
                                        Stream.of(
                                                "--tiny",
                                                "--steps=" + STEPS,
                                                "--context=16",
                                                "--micro-batch=1",
                                                "--global-batch=4",
                                                "--parameters=f64",
                                                "--max-bytes=60000",
                                                "--warmup=0",
                                                "--clip=0.5",
                                                "--checkpoint=" + saved),
                                        Stream.of(words).skip(1))
                                .toArray(String[]::new),
                        ModelOptions.none(model),
                        Integer.parseInt(words[0]))
                .orElseThrow();
        PrintStream out = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(Integer.parseInt(words[0])).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return CheckpointContents.of(saved, STEPS);
    }
}
