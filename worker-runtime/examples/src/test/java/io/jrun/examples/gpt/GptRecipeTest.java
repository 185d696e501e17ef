package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.data.TokenCorpus;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.token.TokenBatch;
import io.jrun.train.token.TokenDataset;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The effect of the options of a recipe on the parameters after a few steps. */
class GptRecipeTest {
    private static final List<String> SHORT =
            List.of("--tiny", "--steps=4", "--layers=2", "--width=32", "--micro-batch=2");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static GptOptions options(String... more) {
        return GptOptions.parse(
                        Stream.concat(SHORT.stream(), Arrays.stream(more)).toArray(String[]::new))
                .orElseThrow();
    }

    /** All parameters of rank 0 after the training of {@code ranks} ranks, and what rank 0 prints. */
    private static Trained train(int ranks, String... more) {
        GptOptions options = options(more).withAccumulation(ranks);
        List<float[]> parameters = new ArrayList<>();
        List<Double> losses = new ArrayList<>();
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            try (TokenCorpus corpus = corpus(options, world);
                    DeviceMesh mesh = options.parallel().mesh(world);
                    GptTrainer trainer = new GptTrainer(options, world, mesh)) {
                TokenDataset windows = corpus.training(options.model().context());
                long[] sample = {world.rank() * 1000L};
                for (int step = 1; step <= options.steps(); step++) {
                    trainer.step(step, () -> batch(windows, sample[0]++, sample[0]++));
                    double loss = trainer.report(step);
                    if (world.rank() == 0) {
                        losses.add(loss);
                    }
                }
                trainer.useAverage();
                if (world.rank() == 0) {
                    ModuleTensors.parameters(trainer.model().module())
                            .values()
                            .forEach(tensor ->
                                    parameters.add(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_FLOAT)));
                }
            }
        });
        return new Trained(parameters, losses);
    }

    private record Trained(List<float[]> parameters, List<Double> losses) {}

    @ParameterizedTest
    @ValueSource(strings = {"--precision=f32", "--precision=bf16"})
    void recomputationChangesNoBit(String precision) {
        Trained kept = train(2, precision);
        assertThat(train(2, precision, "--recompute=1").parameters().toArray(float[][]::new))
                .isDeepEqualTo(kept.parameters().toArray(float[][]::new));
    }

    /** Two ranks see four batches of two sequences in each step; one rank with accumulation sees two of them. */
    @Test
    void accumulationDelaysTheStep() {
        Trained twice = train(1, "--accumulate=2", "--steps=2", "--optimizer=sgd");
        Trained once = train(1, "--micro-batch=2", "--steps=4", "--optimizer=sgd");
        assertThat(twice.losses()).hasSize(2);
        assertThat(twice.losses().getFirst()).isNotEqualTo(once.losses().getFirst());
        double mean = (lossOfUntrained(0) + lossOfUntrained(2)) / 2;
        assertThat(twice.losses().getFirst()).isCloseTo(mean, within(1e-6));
    }

    private static double lossOfUntrained(long firstSample) {
        GptOptions options = options();
        double[] loss = new double[1];
        LocalWorld.run(1, world -> {
            try (TokenCorpus corpus = corpus(options, world)) {
                TokenBatch batch = batch(corpus.training(options.model().context()), firstSample, firstSample + 1);
                loss[0] = TrainedModel.build(options, ModuleWrapper.NONE)
                        .loss(batch.inputs(), batch.targets())
                        .item_double();
            }
        });
        return loss[0];
    }

    private static TokenCorpus corpus(GptOptions options, World world) {
        return TokenCorpus.load(options.data(), TrainGpt.jdkSources(), world);
    }

    private static TokenBatch batch(TokenDataset windows, long... samples) {
        try {
            List<long[]> batch = new ArrayList<>();
            for (long sample : samples) {
                batch.add(windows.get(sample));
            }
            return TokenBatch.of(batch);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The kernel of the fused optimizer rounds in another order than the operations of libtorch's AdamW. */
    @Test
    void theFusedOptimizerIsAdamW() {
        List<Double> found = train(1, "--optimizer=fused").losses();
        List<Double> wanted = train(1, "--optimizer=adamw").losses();
        for (int i = 0; i < wanted.size(); i++) {
            assertThat(found.get(i)).isCloseTo(wanted.get(i), within(1e-5));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--precision=f32", "--precision=f16 --ema=0.5", "--precision=fp8"})
    void aResumedTrainingHasTheSameBits(String recipe) throws IOException {
        String[] fused = with(recipe.split(" ", -1), "--optimizer=fused");
        Path whole = folder.resolve("whole.safetensors");
        run(with(fused, "--checkpoint=" + folder.resolve("a"), "--checkpoint-every=2", "--out=" + whole));
        Path step = Files.createDirectories(folder.resolve("b/step-00000002"));
        try (Stream<Path> files = Files.list(folder.resolve("a/step-00000002"))) {
            for (Path file : files.toList()) {
                Files.copy(file, step.resolve(file.getFileName()));
            }
        }
        Path resumed = folder.resolve("resumed.safetensors");
        run(with(fused, "--checkpoint=" + folder.resolve("b"), "--resume", "--out=" + resumed));
        assertThat(resumed).hasSameBinaryContentAs(whole);
    }

    /** With a decay of 0.5 the average after two steps is the mean of the parameters after each step. */
    @Test
    void theEndWritesTheAverageOfTheParameters() {
        float[] first = train(1, "--steps=1", "--ema=0.5").parameters().getFirst();
        float[] second = train(1, "--steps=2").parameters().getFirst();
        float[] average = train(1, "--steps=2", "--ema=0.5").parameters().getFirst();
        for (int i = 0; i < average.length; i++) {
            assertThat(average[i]).isCloseTo((first[i] + second[i]) / 2, within(1e-6f));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--static-graph", "--find-unused-parameters", "--bucket-cap-mb=1", "--local-sgd=2"})
    void optionsOfTheExchangeChangeNoBit(String option) {
        assertThat(train(2, option, "--steps=13").parameters().toArray(float[][]::new))
                .isDeepEqualTo(train(2, "--steps=13").parameters().toArray(float[][]::new));
    }

    private static String run(String... more) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(1), world -> TrainGpt.train(options(more), world, new Progress(out, false)));
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--comm-hook=fp16",
                "--comm-hook=bf16",
                "--comm-hook=powersgd",
                "--local-sgd=1",
                "--precision=f16",
                "--precision=fp8"
            })
    void fewerBitsAndLessExchangeChangeTheLossALittle(String option) {
        List<Double> found = train(2, option, "--steps=14").losses();
        List<Double> wanted = train(2, "--steps=14").losses();
        assertThat(found).isNotEqualTo(wanted);
        assertThat(found.getLast()).isCloseTo(wanted.getLast(), within(0.2));
    }

    /** A learning rate that makes the parameters infinite in the first step. */
    @Test
    void stepsThatAreNotFiniteStopTheJobOrAreSkipped() {
        String[] diverges = {"--lr=1e38", "--optimizer=sgd", "--clip=0", "--warmup=0"};
        assertThatThrownBy(() -> run(with(diverges, "--on-nonfinite=stop")))
                .hasStackTraceContaining(NonFiniteException.class.getName())
                .hasStackTraceContaining("rank 0, step 2: the loss is not finite");
        assertThat(run(with(diverges, "--on-nonfinite=skip")))
                .contains("skipped rank 0, step 4: the loss is not finite\n", "3 steps were skipped");
    }

    private static String[] with(String[] first, String... last) {
        return Stream.concat(Arrays.stream(first), Arrays.stream(last)).toArray(String[]::new);
    }

    @Test
    void tensorBoardFilesHaveTheMetrics() throws IOException {
        run("--tensorboard=" + folder, "--peak-flops=1e12", "--log-every=2");
        try (Stream<Path> files = Files.list(folder)) {
            String bytes = new String(Files.readAllBytes(files.findFirst().orElseThrow()), StandardCharsets.ISO_8859_1);
            assertThat(bytes)
                    .contains("loss", "gradient_norm", "learning_rate", "tokens_per_second", "mfu", "forward_seconds")
                    .contains("exposed_communication_seconds", "data_seconds", "optimizer_seconds", "backward_seconds");
        }
    }

    @ParameterizedTest
    @CsvSource({"cosine, 0.55, 0.1", "linear, 0.55, 0.1", "constant, 1, 1"})
    void schedulesFollowTheWarmUp(String schedule, double middle, double end) {
        GptOptions options = options("--lr-schedule=" + schedule, "--lr=1", "--warmup=10", "--steps=110");
        assertThat(options.learningRateAt(4)).isEqualTo(0.5);
        assertThat(options.learningRateAt(60)).isCloseTo(middle, within(1e-12));
        assertThat(options.learningRateAt(110)).isCloseTo(end, within(1e-12));
    }
}
