package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.step.Step;
import io.jrun.train.token.TokenBatch;
import io.jrun.trainer.data.TokenCorpus;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The options of train.jar with which ranks share a model. The losses are the losses of DistributedDataParallel. */
class SharedModelTest {
    private static final List<String> SHORT = List.of(
            "--tiny",
            "--steps=4",
            "--layers=2",
            "--width=32",
            "--micro-batch=2",
            "--log-every=1",
            "--optimizer=fused",
            "--max-bytes=60000",
            "--clip=0.5");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @CsvSource({
        "2,--zero=1 --shard=2",
        "2,--zero=2 --shard=2",
        "3,--shard=3 --ema=0.5",
        "2,--shard=2 --recompute=1 --optimizer=adamw",
        "2,--shard=2 --accumulate=2 --on-nonfinite=stop",
        "2,--shard=2 --precision=bf16 --untied --reshard-after-forward=no",
        "2,--shard=2 --model=llama",
        "4,--shard=2 --dp=2 --model=llama --global-batch=16"
    })
    void theLossesAreTheLossesOfDdp(int ranks, String words) {
        String[] flags = words.split(" ");
        String[] others = Stream.of(flags)
                .filter(word -> !word.matches("--(shard|zero|dp|reshard-after-forward)=.*"))
                .toArray(String[]::new);
        assertThat(losses(train(ranks, flags))).hasSize(5).isEqualTo(losses(train(ranks, others)));
    }

    @Test
    void aSharedModelGeneratesTextAndWritesAllParameters() {
        Path whole = folder.resolve("whole.safetensors");
        Path shared = folder.resolve("shared.safetensors");
        train(2, "--clip=0", "--out=" + whole);
        assertThat(train(2, "--clip=0", "--shard=2", "--sample=5", "--out=" + shared))
                .contains("* Returns ");
        assertThat(shared).hasSameBinaryContentAs(whole);
    }

    /** The checkpoints of DDP, of stages 1 and 2, and of FSDP on any number of ranks have the same bits. */
    @ParameterizedTest
    @CsvSource({
        "2,--shard=2,1,--dp=1",
        "1,--dp=1,2,--shard=2 --zero=1",
        "2,--shard=2 --zero=1,3,--shard=3 --zero=2",
        "2,--shard=2 --zero=2,3,--shard=3",
        "4,--shard=2 --dp=2,3,--shard=3 --zero=2"
    })
    void aCheckpointOfOneMeshIsLoadedOnAnother(int ranks, String flags, int others, String otherFlags) {
        Path first = folder.resolve("a");
        String trained = train(ranks, with(flags, "--checkpoint=" + first));
        Map<String, double[]> saved = CheckpointContents.of(first, 4);
        Map<String, double[]> loaded = CheckpointContents.loadedAndSaved(
                others, options(otherFlags.split(" ")), first, 4, folder.resolve("b"));
        assertThat(saved.keySet()).anyMatch(name -> name.endsWith(".exp_avg_sq"));
        CheckpointContents.assertSame(loaded, saved, otherFlags);
        assertThat(losses(train(others, with(otherFlags, "--checkpoint=" + first, "--resume"))))
                .containsExactly(losses(trained).getLast());
    }

    /**
     * The job stops when all ranks have updated their parts in step 2, and before any rank has the parts of the others.
     * The next job makes steps 3 and 4 on the samples that follow.
     */
    @ParameterizedTest
    @ValueSource(strings = {"--shard=2 --zero=1", "--shard=2 --zero=2 --ema=0.5"})
    void aStopDuringTheExchangeOfAStepSavesTheStep(String flags) {
        String[] saving = with(flags, "--clip=0", "--checkpoint=" + folder.resolve("stopped"));
        TrainingArguments options = options(saving);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            try (DeviceMesh mesh = options.parallel().mesh(world);
                    TokenCorpus corpus =
                            TokenCorpus.load(options.data(), options.data().path(), world)) {
                TrainingArguments whole = options.withAccumulation(2)
                        .withData(corpus.vocabulary(), options.model().context());
                try (TrainingSteps trainer = new TrainingSteps(whole, world, mesh);
                        DataLoader<long[]> loader = DataLoader.of(
                                corpus.training(whole.model().context()),
                                world.group(),
                                DataLoaderOptions.training(whole.microBatch(), whole.seed()));
                        Checkpoints checkpoints =
                                Checkpoints.open(whole, world, 2, "text", trainer, loader, Progress.SILENT)) {
                    assertThatThrownBy(() -> checkpoints.protect(0, done -> {
                                trainer.step(1, () -> StepBatch.of(TokenBatch.of(loader.next())));
                                done.accept(1);
                                stopInTheExchange(trainer, whole.schedule(), loader, mesh);
                            }))
                            .isInstanceOf(CommException.class);
                }
            }
        });
        train(2, with(flags, "--clip=0", "--checkpoint=" + folder.resolve("whole")));
        assertThat(train(2, with(flags, saving[saving.length - 1], "--clip=0", "--resume")))
                .contains("from step 2 to 4");
        Map<String, double[]> expected = CheckpointContents.of(folder.resolve("whole"), 4);
        Map<String, double[]> found = CheckpointContents.of(folder.resolve("stopped"), 4);
        CheckpointContents.assertSame(found, expected, flags);
    }

    private static void stopInTheExchange(
            TrainingSteps trainer, LearningRateSchedule schedule, DataLoader<long[]> loader, DeviceMesh mesh) {
        TrainedModel model = trainer.model();
        try (Step scope = model.step()) {
            model.optimizer().clear();
            model.optimizer().setRate(schedule, 1);
            Batch batch = TokenBatch.of(loader.next());
            scope.backward(model.module().loss(batch.inputs(), batch.targets()));
            ProcessGroup group = ParallelOptions.dataGroup(mesh);
            group.barrier();
            group.abort("the job stops");
            model.optimizer().step();
        }
    }

    /** The options of one rank with the whole model. The losses and the averages are the ones of DDP. */
    @ParameterizedTest
    @ValueSource(strings = {"--shard=2 --zero=1", "--shard=2 --zero=2", "--shard=2", "--shard=1 --dp=2"})
    void lossScalesAndAveragesWorkOnShares(String flags) {
        String[] recipe = {"--clip=0", "--precision=f16", "--ema=0.5", "--checkpoint=" + folder.resolve("shared")};
        List<String> found = losses(train(2, with(flags, recipe)));
        recipe[3] = "--checkpoint=" + folder.resolve("whole");
        assertThat(found).hasSize(5).isEqualTo(losses(train(2, recipe)));
        Map<String, double[]> shared = CheckpointContents.of(folder.resolve("shared"), 4);
        Map<String, double[]> whole = CheckpointContents.of(folder.resolve("whole"), 4);
        assertThat(whole.keySet()).anyMatch(name -> name.startsWith("average."));
        CheckpointContents.assertSame(shared, whole, flags);
    }

    /** The gathered weights have the magnitudes of copies, and each rank has the magnitudes of its own samples. */
    @ParameterizedTest
    @ValueSource(strings = {"--shard=2 --zero=1", "--shard=2 --recompute=1"})
    void productsOfEightBitsOnSharesAreThoseOfCopies(String flags) {
        String precision = "--precision=fp8";
        train(2, with(flags, precision, "--clip=0", "--eval-every=2", "--checkpoint=" + folder.resolve("shared")));
        train(2, precision, "--clip=0", "--checkpoint=" + folder.resolve("whole"));
        Map<String, double[]> shared = CheckpointContents.of(folder.resolve("shared"), 4);
        Map<String, double[]> whole = CheckpointContents.of(folder.resolve("whole"), 4);
        assertThat(whole.keySet()).anyMatch(name -> name.contains("float8."));
        CheckpointContents.assertSame(shared, whole, flags);
    }

    @Test
    void updatesOfStatesInFilesBesideTheBackwardPassChangeNoLoss() {
        String[] common = {"--shard=2", "--accumulate=2", "--clip=0"};
        List<String> expected = losses(train(2, common));
        assertThat(losses(train(2, with(common, "--offload=" + folder.resolve("states"), "--update-in-hook"))))
                .hasSize(5)
                .isEqualTo(expected);
    }

    /** The folder of the states is the checkpoint: the second job makes the last two steps. */
    @ParameterizedTest
    @ValueSource(strings = {"f32", "f64"})
    void statesInFilesGiveTheLossesOfMemoryAndGoOn(String type) {
        String[] common = {"--shard=2", "--accumulate=2", "--parameters=" + type};
        String files = "--offload=" + folder.resolve("states");
        List<String> expected = losses(train(2, common));
        train(2, with(common, files, "--steps=2", "--lr-schedule=constant"));
        String resumed = train(2, with(common, files));
        assertThat(resumed)
                .containsPattern(
                        "files: rank 0 read and wrote \\d+\\.\\d MB a step in its passes, and waited \\d+\\.\\d ms");
        List<String> found = losses(resumed);
        assertThat(found).hasSize(3).isEqualTo(expected.subList(2, 5));
        String other = type.equals("f32") ? "f64" : "f32";
        assertThatThrownBy(() -> train(2, with(common, files, "--parameters=" + other)))
                .hasStackTraceContaining("another type of parameters wrote the folder");
    }

    private static String[] with(String flags, String... more) {
        return with(flags.split(" "), more);
    }

    private static String[] with(String[] flags, String... more) {
        return Stream.concat(Stream.of(flags), Stream.of(more)).toArray(String[]::new);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2 | --shard=3 | the mesh does not fit the job: pp 1 x dp 1 x shard 3 x cp 1 x tp 1 = 3, but the job"
                        + " has 2 ranks",
                "2 | --dp=4 | the mesh does not fit the job: pp 1 x dp 4 x shard 1 x cp 1 x tp 1 = 4, but the job has"
                        + " 2 ranks",
                "2 | --global-batch=7 | --global-batch=7 is not --micro-batch x --accumulate x data ranks: 2 x 1 x 2 ="
                        + " 4",
                "2 | --zero=1 | --zero=1 shares the states among all data ranks: give --shard=2",
                "2 | --zero=3 | --zero=3 shares the parameters among the ranks of --shard: give --shard=2",
                "1 | --zero=4 | --zero is '4', expected a stage from 0 to 3",
                "2 | --shard=2 --comm-hook=bf16 | --comm-hook works without --shard only: ranks that share states"
                        + " reduce gradients by themselves"
            })
    void mistakesAreOneLineThatSaysWhatToDo(int ranks, String flags, String message) {
        assertThatThrownBy(() -> train(ranks, flags.split(" "))).hasStackTraceContaining(message);
    }

    /** The printed losses without speeds, and the held-out loss. */
    private static List<String> losses(String printed) {
        return printed.lines()
                .filter(line -> line.contains("loss"))
                .map(line -> line.replaceAll(" \\d+ tokens/s.*", ""))
                .toList();
    }

    private static TrainingArguments options(String... flags) {
        return GptArguments.parse(
                        Stream.concat(SHORT.stream(), Stream.of(flags)).toArray(String[]::new))
                .orElseThrow();
    }

    private static String train(int ranks, String... flags) {
        TrainingArguments options = options(flags);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
