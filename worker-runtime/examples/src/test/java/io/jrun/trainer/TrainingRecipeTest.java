package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.token.TokenBatch;
import io.jrun.train.token.TokenDataset;
import io.jrun.trainer.data.TokenCorpus;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The effect of the options of a recipe on the parameters after a few steps. */
class TrainingRecipeTest {
    private static final List<String> SHORT = List.of(
            "--tiny", "--steps=4", "--layers=2", "--width=32", "--context=32", "--micro-batch=2", "--max-bytes=60000");

    /** The trainings of this class, by the number of ranks and the options: several tests compare with the same one. */
    private static final Map<List<String>, Trained> TRAINED = new HashMap<>();

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static TrainingArguments options(String... more) {
        return GptArguments.parse(
                        Stream.concat(SHORT.stream(), Arrays.stream(more)).toArray(String[]::new))
                .orElseThrow();
    }

    /** All parameters of rank 0 after the training of {@code ranks} ranks, and what rank 0 prints. */
    private static Trained train(int ranks, String... more) {
        return TRAINED.computeIfAbsent(List.of(with(more, Integer.toString(ranks))), _ -> newlyTrained(ranks, more));
    }

    private static Trained newlyTrained(int ranks, String... more) {
        TrainingArguments options = options(more).withAccumulation(ranks);
        List<float[]> parameters = new ArrayList<>();
        List<Double> losses = new ArrayList<>();
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            try (TokenCorpus corpus = corpus(options, world);
                    DeviceMesh mesh = options.parallel().mesh(world);
                    TrainingSteps trainer = new TrainingSteps(options, world, mesh)) {
                TokenDataset windows = corpus.training(options.model().context());
                long[] sample = {world.rank() * 1000L};
                for (int step = 1; step <= options.steps(); step++) {
                    trainer.step(step, () -> StepBatch.of(batch(windows, sample[0]++, sample[0]++)));
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
        TrainingArguments options = options();
        double[] loss = new double[1];
        LocalWorld.run(1, world -> {
            try (TokenCorpus corpus = corpus(options, world)) {
                Batch batch = batch(corpus.training(options.model().context()), firstSample, firstSample + 1);
                loss[0] = TrainedModel.build(options, options.parallel().mesh(world), _ -> {})
                        .loss(batch.inputs(), batch.targets())
                        .item_double();
            }
        });
        return loss[0];
    }

    private static TokenCorpus corpus(TrainingArguments options, World world) {
        return TokenCorpus.load(options.data(), options.data().path(), world);
    }

    private static Batch batch(TokenDataset windows, long... samples) {
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
    @ParameterizedTest
    @CsvSource({"f32,1e-5", "f64,1e-12"})
    void theFusedOptimizerIsAdamW(String type, double tolerance) {
        String parameters = "--parameters=" + type;
        List<Double> found = train(1, parameters, "--optimizer=fused").losses();
        List<Double> wanted = train(1, parameters, "--optimizer=adamw").losses();
        for (int i = 0; i < wanted.size(); i++) {
            assertThat(found.get(i)).isCloseTo(wanted.get(i), within(tolerance));
        }
    }

    static List<String> recipesWithState() {
        return CasesOfSeed.draw(
                List.of(
                        "--precision=f32",
                        "--precision=f16 --ema=0.5",
                        "--precision=fp8 --recompute=1 --eval-every=1",
                        "--parameters=bf16",
                        "--parameters=f64 --ema=0.5"),
                2);
    }

    @ParameterizedTest
    @MethodSource("recipesWithState")
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
    @ValueSource(strings = {"--static-graph", "--find-unused-parameters", "--bucket-cap-mb=1,2", "--local-sgd=2"})
    void optionsOfTheExchangeChangeNoBit(String option) {
        assertThat(train(2, option, "--steps=13").parameters().toArray(float[][]::new))
                .isDeepEqualTo(train(2, "--steps=13").parameters().toArray(float[][]::new));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--optimizer=fused", "--optimizer=fused-sgd"})
    void anUpdateInTheHookChangesNoBit(String optimizer) {
        String[] common = {optimizer, "--clip=0", "--accumulate=2", "--decay-matrices", "--lr-schedule=one-cycle"};
        assertThat(train(2, with(common, "--update-in-hook")).parameters().toArray(float[][]::new))
                .isDeepEqualTo(train(2, common).parameters().toArray(float[][]::new));
    }

    /** Six updates lower the rate and raise the momentum of one-cycle. The optimizers of libtorch are the reference. */
    @ParameterizedTest
    @CsvSource({"fused,adamw,f32,1e-5", "fused-sgd,sgd,f32,1e-5", "fused-sgd,sgd,f64,1e-12"})
    void oneCycleSetsTheMomentumOfAllOptimizers(String flat, String ofLibtorch, String type, double tolerance) {
        String[] common = {
            "--lr-schedule=one-cycle", "--steps=6", "--lr=0.01", "--weight-decay=0.1", "--parameters=" + type
        };
        List<Double> found = train(1, with(common, "--optimizer=" + flat)).losses();
        List<Double> wanted =
                train(1, with(common, "--optimizer=" + ofLibtorch)).losses();
        for (int i = 0; i < wanted.size(); i++) {
            assertThat(found.get(i)).isCloseTo(wanted.get(i), within(tolerance));
        }
    }

    @Test
    void weightDecayLeavesBiasesAloneWhenAsked() {
        String[] decay = {"--optimizer=fused", "--weight-decay=10", "--lr=0.01", "--warmup=0", "--steps=1"};
        List<float[]> all = train(1, decay).parameters();
        List<float[]> matrices = train(1, with(decay, "--decay-matrices")).parameters();
        List<float[]> none = train(1, "--optimizer=fused", "--weight-decay=0", "--lr=0.01", "--warmup=0", "--steps=1")
                .parameters();
        assertThat(matrices.getFirst())
                .as("an embedding")
                .isEqualTo(all.getFirst())
                .isNotEqualTo(none.getFirst());
        assertThat(matrices.getLast()).as("a bias").isEqualTo(none.getLast());
    }

    @Test
    void keptOutputsChangeNoBit() {
        float[][] kept = train(1, "--recompute=1", "--recompute-keep=c_attn,mlp.c_fc", "--recompute-check=bits")
                .parameters()
                .toArray(float[][]::new);
        assertThat(kept).isDeepEqualTo(train(1).parameters().toArray(float[][]::new));
        assertThatThrownBy(() -> train(1, "--recompute=1", "--recompute-keep=c_up"))
                .hasStackTraceContaining("--recompute-keep names c_up, but transformer.h.0 has the linear layers"
                        + " attn.c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj");
    }

    /** With 3 ranks and micro-batches of one window, rank 2 has one batch less than the others. */
    @Test
    void ranksWithFewerBatchesJoinOrStop() throws IOException {
        Path text = Files.writeString(folder.resolve("short.txt"), "abcdefghij".repeat(60));
        String[] common = {"--tiny", "--data=" + text, "--context=20", "--micro-batch=1", "--width=32", "--log-every=1"
        };
        String joined = printed(3, with(common, "--uneven=join"));
        assertThat(joined).contains("step 9/9 loss", "mean loss of all batches", "trained 9 steps");
        assertThat(printed(3, with(common, "--uneven=stop")))
                .contains(
                        "the training ends after step 8: rank 2 has no inputs left, but rank 0 has.",
                        "trained 8 steps");
    }

    @Test
    void theReportOfDdpHasTheOverlapOfEachBucket() {
        assertThat(run(2, "--ddp-report", "--comm-hook=bf16"))
                .containsPattern("DDP: 4 reductions by CompressionHook\\(BF16, AllReduceHook\\), \\d+ parameters in 1"
                        + " buckets in the order of the gradients; mean of a step: forward \\S+ ms, .*: 0\\.00\n");
    }

    private static String run(String... more) {
        return run(1, more);
    }

    private static String run(int ranks, String... more) {
        return printed(ranks, with(SHORT.toArray(String[]::new), more));
    }

    private static String printed(int ranks, String... arguments) {
        TrainingArguments options = GptArguments.parse(arguments).orElseThrow();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                ranks,
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return bytes.toString(StandardCharsets.UTF_8);
    }

    static List<String> lossyOptions() {
        return CasesOfSeed.draw(
                List.of(
                        "--comm-hook=fp16",
                        "--comm-hook=bf16",
                        "--comm-hook=powersgd",
                        "--local-sgd=1",
                        "--precision=f16",
                        "--precision=fp8",
                        "--parameters=bf16 --optimizer=fused",
                        "--parameters=f16 --optimizer=fused"),
                4);
    }

    @ParameterizedTest
    @MethodSource("lossyOptions")
    void fewerBitsAndLessExchangeChangeTheLossALittle(String option) {
        List<Double> found = train(2, with(option.split(" ", -1), "--steps=14")).losses();
        List<Double> wanted = train(2, "--steps=14").losses();
        assertThat(found).isNotEqualTo(wanted);
        assertThat(found.getLast()).isCloseTo(wanted.getLast(), within(0.2));
    }

    /** A learning rate that makes the parameters infinite in the first step. */
    @Test
    void stepsThatAreNotFiniteStopTheJobOrAreSkipped() {
        String[] diverges = {"--lr=1e30", "--optimizer=sgd", "--clip=0", "--warmup=0"};
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

    /** Each way to share a model measures its steps: no time is negative, and the communication has bytes. */
    @ParameterizedTest
    @ValueSource(
            strings = {"--dp=2", "--shard=2", "--zero=2 --shard=2 --optimizer=fused", "--pp=2 --accumulate=2", "--tp=2"
            })
    void everyPhaseHasItsTime(String sharing) {
        TrainingArguments given = options(with(sharing.split(" ", -1), "--clip=0", "--log-every=2"));
        LocalWorld.run(2, world -> {
            try (TokenCorpus corpus = corpus(given, world);
                    DeviceMesh mesh = given.parallel().mesh(world)) {
                TrainingArguments options =
                        given.withAccumulation(ParallelOptions.dataGroup(mesh).size());
                TokenDataset windows = corpus.training(options.model().context());
                try (TrainingSteps trainer = new TrainingSteps(options, world, mesh)) {
                    for (int step = 1; step <= 2; step++) {
                        trainer.step(step, () -> StepBatch.of(batch(windows, 0, 1)));
                    }
                    StepMetrics metrics = trainer.report().metrics();
                    assertThat(metrics.spans().spans()).allMatch(span -> span.nanos() >= 0);
                    assertThat(metrics.spans().spans())
                            .filteredOn(span -> span.name().equals("exposed_communication") && span.step() == 2)
                            .singleElement()
                            .satisfies(span -> assertThat(span.bytes() > 0).isEqualTo(!sharing.equals("--tp=2")));
                    Map<String, Double> values = metrics.report(Map.of());
                    for (StepPhase phase : StepPhase.values()) {
                        assertThat(values.get(phase.label() + "_seconds"))
                                .as(phase.label())
                                .isPositive();
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @CsvSource({"cosine, 0.55, 0.1", "linear, 0.55, 0.1", "constant, 1, 1"})
    void schedulesFollowTheWarmUp(String schedule, double middle, double end) {
        TrainingArguments options = options("--lr-schedule=" + schedule, "--lr=1", "--warmup=10", "--steps=110");
        assertThat(options.schedule().at(4)).isEqualTo(0.5);
        assertThat(options.schedule().at(60)).isCloseTo(middle, within(1e-12));
        assertThat(options.schedule().at(110)).isCloseTo(end, within(1e-12));
    }
}
