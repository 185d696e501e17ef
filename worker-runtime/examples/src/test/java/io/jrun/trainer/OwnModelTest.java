package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.ConvolutionModel;
import io.jrun.examples.own.OwnModel;
import io.jrun.train.Libtorch;
import io.jrun.train.expert.ExpertNetwork;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TextEmbedding;
import io.jrun.train.layer.TextHead;
import io.jrun.train.layer.TransformerBlock;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TransformerPlan;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.DropoutImpl;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

    /** The meshes of a model with a loss of its own, of whole logits. */
    private static final List<String> MESHES_OF_OWN_LOSS = List.of(
            "2 --tp=2",
            "3 --tp=3",
            "4 --tp=2 --sequence-parallel --shard=2",
            "4 --tp=2 --cp=2",
            "4 --tp=2 --sequence-parallel --pp=2 --recompute=1",
            "4 --tp=2 --pp=2 --schedule=zb1p");

    /** The meshes of a model without jrun's layers. */
    private static final List<String> MESHES_OF_LIBTORCHS_LAYERS = List.of(
            "4 --dp=4",
            "2 --shard=2",
            "2 --shard=2 --zero=1 --optimizer=fused",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --shard=2 --dp=2 --recompute=1",
            "4 --pp=2 --shard=2");

    /** Cross entropy with label smoothing, and a term of the normalizers of the logits beside the loss of the base class. */
    private static class OwnLossModel extends LayeredModel {
        static final int HEADS = 6;
        private static final int WIDTH = 12;

        OwnLossModel(ModelSetup setup) {
            super(setup);
            transformer(HEADS);
            first(
                    "embedding",
                    () -> new TextEmbedding(setup.vocabulary(), setup.context(), WIDTH, setup.device()),
                    TextEmbedding::forward);
            block(() -> new TransformerBlock(WIDTH, HEADS, 24, setup.device()), TransformerBlock::forward);
            block(() -> new TransformerBlock(WIDTH, HEADS, 24, setup.device()), TransformerBlock::forward);
            last("head", () -> new TextHead(WIDTH, setup.vocabulary(), setup.device()), TextHead::forward);
        }

        @Override
        public Tensor outputLoss(Tensor outputs, Tensor targets) {
            Tensor smoothed = torch.cross_entropy_loss(
                    outputs.flatten(0, 1), targets.flatten(), new TensorOptional(), 1, -100L, 0.1);
            Tensor normalizers = outputs.logsumexp(-1).square().mean();
            return super.outputLoss(outputs, targets).add(smoothed).add(normalizers.mul(new Scalar(0.01)));
        }
    }

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aModelOfJrunsLayersHasTheParametersOfOneRank() {
        Map<String, double[]> expected = train("one", OwnModel::new, "1 --dp=1");
        assertThat(expected).containsKeys("model.block3.attention.qkv.weight", "model.head.logits.weight");
        for (String mesh : CasesOfSeed.draw(MESHES, DRAWN)) {
            CheckpointContents.assertClose(train(mesh, OwnModel::new, mesh), expected, 1e-12, mesh);
        }
    }

    /** Without the norm before the logits step 17 had a loss of 42. */
    @Test
    void theLossFallsAtTheDefaultLearningRate() {
        List<Double> losses = RecordedTraining.run(
                        "1",
                        OwnModel::new,
                        "--steps=20",
                        "--context=64",
                        "--micro-batch=16",
                        "--global-batch=16",
                        "--max-bytes=400000",
                        "--warmup=5",
                        "--parameters=f32")
                .ranks()
                .getFirst()
                .losses();
        assertThat(losses).hasSize(20).allMatch(loss -> loss < losses.getFirst() + 0.5);
        assertThat(losses.getLast()).isLessThan(3.7);
    }

    @Test
    void aModelOfLibtorchsLayersHasTheParametersOfOneRank() {
        Map<String, double[]> expected = train("one", ConvolutionModel::new, "1 --dp=1");
        assertThat(expected).containsKeys("model.block3.mix.weight");
        for (String mesh : CasesOfSeed.draw(MESHES_OF_LIBTORCHS_LAYERS, 2)) {
            CheckpointContents.assertClose(train(mesh, ConvolutionModel::new, mesh), expected, 1e-12, mesh);
        }
    }

    /** A part of the logits would give another loss without an error. */
    @Test
    void aLossOfOnesOwnGetsTheLogitsOfAllTokens() {
        Map<String, double[]> expected = train("one", OwnLossModel::new, "1 --dp=1");
        for (String mesh : CasesOfSeed.draw(MESHES_OF_OWN_LOSS, DRAWN)) {
            CheckpointContents.assertClose(train(mesh, OwnLossModel::new, mesh), expected, 1e-12, mesh);
        }
    }

    @Test
    void aPlanThatGivesALossOfOnesOwnAPartOfTheLogitsIsOneLine() {
        ModelFactory model = setup -> new OwnLossModel(setup) {
            @Override
            public Map<String, ParallelStyle> tensorParallelPlan() {
                return TransformerPlan.of(HEADS);
            }
        };
        assertThatThrownBy(() -> train("bad", model, "2 --tp=2"))
                .hasStackTraceContaining(
                        "InvalidArgumentException: layer 'head.logits' of the style VOCABULARY gives the logits"
                                + " of a part of the tokens, but the model ")
                .hasStackTraceContaining(" overrides outputLoss, which needs all logits. Give the linear layer of the"
                        + " logits the style GATHERED_COLUMN");
    }

    /** The statistics of batch norm have the type of the parameters. */
    @Test
    void aModelWithBuffersIsTrainedInTheTypeOfTheParameters() {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), 8), EmbeddingImpl::forward);
                block(
                        () -> new BatchNorm1dImpl(new BatchNormOptions(8)),
                        (norm, x) -> norm.forward(x.transpose(1, 2)).transpose(1, 2));
                last("head", () -> new LinearImpl(8, setup.vocabulary()), LinearImpl::forward);
            }
        };
        Map<String, double[]> saved = train("buffers", model, "2 --dp=2");
        double[] means = Objects.requireNonNull(saved.get("model.block0.running_mean"));
        assertThat(DoubleStream.of(means).boxed())
                .hasSize(8)
                .allMatch(mean -> Double.compare(mean, mean.floatValue()) != 0);
        assertThat(train("narrow", model, "1 --parameters=bf16 --optimizer=fused"))
                .containsKey("model.block0.running_var");
    }

    /** Layers with a state beside the parameters. */
    enum Stateful {
        DROPOUT_OF_LIBTORCH,
        DROPOUT_LAYER,
        BATCH_NORM
    }

    /** Masks follow the step, and buffers that differ between the ranks are those of one rank. */
    @ParameterizedTest
    @CsvSource({
        "DROPOUT_OF_LIBTORCH, 1 --micro-batch=4", // ranks that are threads share libtorch's generator
        "DROPOUT_LAYER, 1 --micro-batch=2",
        "DROPOUT_LAYER, 4 --pp=2 --shard=2 --recompute=1",
        "BATCH_NORM, 2 --dp=2"
    })
    void aResumedModelWithDropoutOrBatchNormHasTheBitsOfAnUninterruptedOne(Stateful kind, String mesh) {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), 8), EmbeddingImpl::forward);
                for (int i = 0; i < 3; i++) {
                    switch (kind) {
                        case DROPOUT_OF_LIBTORCH -> block(() -> new DropoutImpl(0.5), DropoutImpl::forward);
                        case DROPOUT_LAYER ->
                            block(() -> new DropoutLayer(0.5, 1, setup.device()), DropoutLayer::forward);
                        case BATCH_NORM ->
                            block(
                                    () -> new BatchNorm1dImpl(new BatchNormOptions(8)),
                                    (norm, x) -> norm.forward(x.transpose(1, 2)).transpose(1, 2));
                    }
                }
                last("head", () -> new LinearImpl(8, setup.vocabulary()), LinearImpl::forward);
            }
        };
        Map<String, double[]> whole = train("whole", model, mesh);
        assertThat(train("stopped", model, mesh + " --checkpoint-every=3").keySet())
                .isEqualTo(whole.keySet());
        train("stopped", model, mesh + " --resume=3")
                .forEach((name, values) -> assertThat(values).as(name).isEqualTo(whole.get(name)));
    }

    /** The gradients of the output overflow with the first scales of float16, on the last stage first. */
    @Test
    void allStagesSkipAStepWhoseScaledGradientsOverflow() {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), 8), EmbeddingImpl::forward);
                block(() -> new LinearImpl(8, 8), LinearImpl::forward);
                last(
                        "head",
                        () -> new LinearImpl(8, setup.vocabulary()),
                        (head, x) -> head.forward(x).mul(new Scalar(20.0)));
            }
        };
        String options = " --precision=f16 --lr=0.001";
        Map<String, double[]> expected = train("one", model, "1" + options);
        String skipped = skippedSteps();
        CheckpointContents.assertClose(train("two", model, "2 --pp=2" + options), expected, 1e-3, "pp");
        assertThat(skippedSteps())
                .isEqualTo(skipped)
                .contains("skipped step 1:")
                .doesNotContain("skipped step 5:");
    }

    private String skippedSteps() {
        return printed.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith("skipped"))
                .collect(Collectors.joining("\n"));
    }

    @Test
    void namesOtherThanThoseOfTheTransformersPlanAreOneLineThatIsEqualOnAllRanks() {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                transformer(OwnLossModel.HEADS);
                first(
                        "emb",
                        () -> new TextEmbedding(setup.vocabulary(), 16, 12, setup.device()),
                        TextEmbedding::forward);
                block(
                        () -> new TransformerBlock(12, OwnLossModel.HEADS, 24, setup.device()),
                        TransformerBlock::forward);
                last("head", () -> new TextHead(12, setup.vocabulary(), setup.device()), TextHead::forward);
            }
        };
        assertThatThrownBy(() -> train("names", model, "2 --tp=2"))
                .hasStackTraceContaining("InvalidArgumentException: the plan names 'embedding.positions', but the model"
                        + " has no such layer. Its layers are loss, emb, ")
                .hasStackTraceContaining("transformer(heads) gives this plan. It needs a TextEmbedding 'embedding'");
    }

    @Test
    void outputsOfLayersOfLibtorchCannotBeKept() {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                first(
                        "embedding",
                        () -> new TextEmbedding(setup.vocabulary(), setup.context(), 16, setup.device()),
                        TextEmbedding::forward);
                block(() -> new LinearImpl(16, 16), LinearImpl::forward);
                last("head", () -> new LinearLayer(16, setup.vocabulary(), setup.device()), LinearLayer::forward);
            }
        };
        assertThatThrownBy(() -> train("bad", model, "1 --recompute=1 --recompute-keep=x"))
                .hasStackTraceContaining(
                        "InvalidArgumentException: --recompute-keep names x, but block0 is a LinearImpl"
                                + " without a LinearLayer of io.jrun.train.layer. Leave --recompute-keep out");
    }

    /** Otherwise --precision=fp8 would leave out the products of experts, and --cp would change the capacity. */
    @Test
    void aModelWithExpertsMustSaySo() {
        ModelFactory model = setup -> new LayeredModel(setup) {
            {
                first(
                        "embedding",
                        () -> new TextEmbedding(setup.vocabulary(), setup.context(), 16, setup.device()),
                        TextEmbedding::forward);
                block(
                        () -> new MixtureOfExperts(
                                ExpertNetwork.Kind.GELU, 16, 32, new ExpertOptions(2, 1, 0, 0.01, 0), setup.device()),
                        MixtureOfExperts::forward);
                last("head", () -> new LinearLayer(16, setup.vocabulary(), setup.device()), LinearLayer::forward);
            }
        };
        assertThatThrownBy(() -> train("experts", model, "1 --dp=1"))
                .hasStackTraceContaining("InvalidArgumentException: the model has a layer of experts, 'block0',"
                        + " but hasExperts() of its ModelFactory returns false");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1 --recompute=1 --recompute-keep=x;--recompute-keep names x, but block0 is a",
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
                                                mesh.contains("--precision") ? "--log-every=1" : "--parameters=f64",
                                                "--max-bytes=60000",
                                                "--warmup=0",
                                                "--clip=0.5",
                                                "--checkpoint=" + saved),
                                        Stream.of(words).skip(1))
                                .toArray(String[]::new),
                        ModelOptions.none(model),
                        Integer.parseInt(words[0]))
                .orElseThrow();
        printed.reset();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(Integer.parseInt(words[0])).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return CheckpointContents.of(saved, STEPS);
    }
}
