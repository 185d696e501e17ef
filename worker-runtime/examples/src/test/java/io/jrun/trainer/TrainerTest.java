package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Dataset;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.ReplicaException;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.token.TokenBatch;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.data.TokenCorpus;
import io.jrun.trainer.data.TokenWindows;
import io.jrun.trainer.data.TrainingData;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainerTest {
    private static final Pattern REPORT =
            Pattern.compile("(?m)^step (\\d+)/40 loss (\\d+\\.\\d{4}) \\d+ tokens/s ETA \\d+:\\d\\d$");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aTinyRunLearnsReportsAndSamples() {
        String printed = train(2, "--tiny", "--sample=20");
        Matcher report = REPORT.matcher(printed);
        List<Double> losses = new ArrayList<>();
        while (report.find()) {
            losses.add(Double.parseDouble(report.group(2)));
        }
        assertThat(losses).hasSize(4);
        assertThat(losses.getLast()).isLessThan(losses.getFirst() - 0.5);
        assertThat(printed)
                .containsPattern("trained 40 steps in \\S+ s: \\d+ tokens/s, \\S+ % of the time in communication");
        assertThat(printed)
                .containsPattern("held-out loss \\d+\\.\\d{4} nats/byte \\(bigram baseline \\d+\\.\\d{4}\\)");
        assertThat(printed).contains("* Returns ");
    }

    /** AdamW's state is part of it: six steps follow the resumption. */
    @Test
    void aResumedRunHasTheParametersOfAnUninterruptedOne() throws IOException {
        List<String> shape = List.of("--tiny", "--micro-batch=2", "--steps=12", "--checkpoint-every=3");
        Path whole = folder.resolve("whole.safetensors");
        train(2, with(shape, "--checkpoint=" + folder.resolve("a"), "--keep-every=6", "--out=" + whole));
        Path halves = folder.resolve("b");
        copy(folder.resolve("a/step-00000006"), halves.resolve("step-00000006"));
        Path resumed = folder.resolve("resumed.safetensors");
        String printed =
                train(2, with(shape, "--checkpoint=" + halves, "--resume", "--checkpoint-async", "--out=" + resumed));
        assertThat(printed).contains("from step 6 to 12", "checkpoint of step 9 in " + halves + ", in the background");
        assertThat(resumed).hasSameBinaryContentAs(whole);
    }

    /** The errors of PowerSGD's compression differ between ranks, and its factors continue from step to step. */
    @Test
    void aResumedRunWithPowerSgdHasTheParametersOfAnUninterruptedOne() throws IOException {
        List<String> shape = List.of("--tiny", "--micro-batch=2", "--steps=16", "--comm-hook=powersgd");
        Path whole = folder.resolve("whole.safetensors");
        train(
                2,
                with(
                        shape,
                        "--checkpoint=" + folder.resolve("a"),
                        "--checkpoint-every=6",
                        "--keep-last=3",
                        "--out=" + whole));
        for (int step : List.of(6, 12)) { // step 6 is before the first compressed step, step 12 after it
            Path other = folder.resolve("from" + step);
            String name = "step-000000" + (step < 10 ? "0" : "") + step;
            copy(folder.resolve("a").resolve(name), other.resolve(name));
            Path resumed = folder.resolve("resumed" + step + ".safetensors");
            train(2, with(shape, "--checkpoint=" + other, "--resume", "--out=" + resumed));
            assertThat(resumed).hasSameBinaryContentAs(whole);
        }
    }

    @Test
    void aCheckpointWithAllStepsLeavesNothingToTrain() throws IOException {
        Path first = folder.resolve("first.safetensors");
        Path second = folder.resolve("second.safetensors");
        Path checkpoints = folder.resolve("c");
        train(1, "--tiny", "--steps=3", "--checkpoint=" + checkpoints, "--out=" + first);
        String printed = train(1, "--tiny", "--steps=2", "--checkpoint=" + checkpoints, "--resume", "--out=" + second);
        assertThat(printed)
                .contains("no step: the checkpoint has 3 of --steps=2 steps. Give more --steps to train on")
                .doesNotContain("checkpoint of step")
                .doesNotContain("trained ");
        assertThat(second).hasSameBinaryContentAs(first);
    }

    @Test
    void aDamagedCheckpointIsBadInputAndAFailedSaveIsNot() throws IOException {
        Path checkpoints = Files.createDirectories(folder.resolve("c"));
        OutputStream disturbing = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                Files.writeString(
                        checkpoints.resolve("step-00000002"), "a file where the folder of the save should be");
            }
        };
        assertThatThrownBy(() -> train(
                        disturbing, 2, "--tiny", "--steps=3", "--checkpoint-every=2", "--checkpoint=" + checkpoints))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("cannot write a part of " + checkpoints.resolve("step-00000002"))
                .hasMessageStartingWith("rank ");
        Path damaged = folder.resolve("d");
        train(1, "--tiny", "--steps=1", "--checkpoint=" + damaged);
        Files.writeString(damaged.resolve("step-00000001/checkpoint.json"), "{}");
        assertThatThrownBy(() -> train(1, "--tiny", "--steps=2", "--resume", "--checkpoint=" + damaged))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("is not a valid index");
    }

    /** A part of the newest checkpoint is missing. The line says how to go on from the one before. */
    @Test
    void theCheckpointBeforeADamagedOneIsNamedAndCanBeTaken() throws IOException {
        String location = "--checkpoint=" + folder;
        train(1, "--tiny", "--checkpoint-every=2", "--keep-last=5", "--steps=4", location);
        try (Stream<Path> files = Files.list(folder.resolve("step-00000004"))) {
            Path part = files.filter(file -> file.toString().contains("part-"))
                    .findFirst()
                    .orElseThrow();
            Files.delete(part);
            assertThatThrownBy(() -> train(2, "--tiny", "--steps=6", "--resume", location))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessage(
                            "cannot load " + folder + "/step-00000004/: " + part + ": it does not exist. Load another"
                                    + " checkpoint, or remove this one."
                                    + " The checkpoint of step 2 is"
                                    + " whole: --resume=2 goes on from"
                                    + " it.");
        }
        assertThat(train(1, "--tiny", "--steps=6", "--resume=2", location)).contains("from step 2 to 6");
        assertThatThrownBy(() -> train(1, "--tiny", "--steps=6", "--resume=3", location))
                .hasMessageContaining("no checkpoint of step 3");
    }

    @Test
    void anotherOptimizerIsRefusedAndOtherDataAreSaid() throws IOException {
        train(1, "--tiny", "--steps=1", "--checkpoint=" + folder);
        assertThatThrownBy(() -> train(1, "--tiny", "--optimizer=sgd", "--checkpoint=" + folder, "--resume"))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("has the state of AdamW, this run's optimizer is SGD");
        Path text = Files.writeString(folder.resolve("other.txt"), "another text ".repeat(2000));
        assertThat(train(1, "--tiny", "--steps=2", "--data=" + text, "--checkpoint=" + folder, "--resume"))
                .contains("note: the checkpoint was trained on other data (400000 tokens with the checksum ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--width=1000000000 : --width is '1000000000', expected a whole number from 1 to 1048576",
                "--layers=1000000000 : --layers is '1000000000', expected a whole number from 1 to 10000",
                "--experts=100000 : --experts is '100000', expected a whole number from 1 to 10000",
                "--micro-batch=2000000 : --micro-batch is '2000000', expected a whole number from 1 to 1048576",
                "--width=1048576 : the parameters, gradients and optimizer states of a model of gpt, 2 layers, width"
                        + " 1048576",
                "--layers=10000 --width=65536 : the parameters, gradients and optimizer states of a model of gpt,"
                        + " 10000 layers, width 65536",
                "--threads=1000 : --threads is '1000', but this machine has ",
                "--pp=46341 --tp=46341 --dp=2 : a mesh of {pp=46341, dp=2, shard=1, cp=1, tp=46341} has more ranks"
                        + " than",
                "--lr=1e31 : --lr is '1e31', expected at most 1e30",
                "--lr=1e39 : --lr is '1e39', expected a number above 0 and below 3.4e38, the limit of float32",
                "--experts=10000 --width=8192 : the parameters, gradients and optimizer states of a model of gpt, 2"
                        + " layers, width 8192",
                "--micro-batch=1048576 : the outputs of --micro-batch=1048576 sequences of --context=64 need at least"
                        + " 69 GB"
            })
    void sizesBeyondReasonAreOneLineAtOnce(String line) {
        String[] parts = line.split(" : ", 2);
        String[] args = ("--tiny " + parts[0]).split(" ");
        assertThatThrownBy(() -> train(1, args))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith(parts[1])
                .message()
                .hasLineCount(1);
    }

    @Test
    void outputsThatCannotBeWrittenAreFoundBeforeTheFirstStep() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        Path none = Path.of("/proc/none");
        for (List<String> each : List.of(
                List.of("--out=" + pipe, "--out=" + pipe + " cannot be written: it is a pipe, not a regular file"),
                List.of("--out=" + none + "/a", "--out=" + none + "/a cannot be written: "),
                List.of("--checkpoint=" + none, "--checkpoint: rank 0 cannot write to " + none + ": "))) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            assertThatThrownBy(() -> train(printed, 2, "--tiny", "--steps=1", each.getFirst()))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageStartingWith(each.getLast());
            assertThat(printed.toString(StandardCharsets.UTF_8)).isEmpty();
        }
    }

    /** One bit in the memory of rank 1 changes after a save that was right. */
    @Test
    void copiesThatDifferAreFoundAfterAStepAndNotSaved() {
        TrainingArguments options = GptArguments.parse(
                        with(List.of("--tiny", "--steps=2", "--check-replicas=2"), "--checkpoint=" + folder))
                .orElseThrow()
                .withAccumulation(2)
                .withData(256, 64);
        LocalWorld.run(2, world -> {
            try (TokenCorpus corpus =
                            TokenCorpus.load(options.data(), options.data().path(), world);
                    DeviceMesh mesh = options.parallel().mesh(world);
                    TrainingSteps trainer = new TrainingSteps(options, world, mesh);
                    DataLoader<long[]> loader = DataLoader.of(
                            corpus.training(options.model().context()),
                            world.group(),
                            DataLoaderOptions.training(options.microBatch(), options.seed()));
                    Checkpoints checkpoints =
                            Checkpoints.open(options, world, 2, "text", trainer, loader, Progress.SILENT)) {
                trainer.step(1, () -> StepBatch.of(TokenBatch.of(loader.next())));
                trainer.checkReplicas(1);
                if (world.rank() == 1) {
                    MemorySegment changed = TensorMemory.segment(
                            ModuleTensors.parameters(trainer.model().module())
                                    .values()
                                    .iterator()
                                    .next());
                    changed.set(ValueLayout.JAVA_BYTE, 5, (byte) (changed.get(ValueLayout.JAVA_BYTE, 5) ^ 1));
                }
                assertThatThrownBy(() -> trainer.step(2, () -> StepBatch.of(TokenBatch.of(loader.next()))))
                        .isInstanceOf(ReplicaException.class)
                        .hasMessageContaining("step 2: parameter 'transformer.wte.weight' differs");
                assertThatThrownBy(() -> checkpoints.saveLast(0, 2)).isInstanceOf(ReplicaException.class);
            }
        });
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void parametersThatAreNotFiniteAreNotSaved() {
        Path checkpoints = folder.resolve("c");
        Path out = folder.resolve("out.safetensors");
        List<String> diverges = List.of("--tiny", "--micro-batch=2", "--steps=4", "--lr=1e30", "--warmup=0");
        assertThatThrownBy(() -> train(2, with(diverges, "--out=" + out)))
                .hasStackTraceContaining("rank 0, step 4: the parameter '")
                .hasStackTraceContaining("' has a value that is not finite. The parameters are not saved.");
        assertThatThrownBy(() -> train(2, with(diverges, "--checkpoint=" + checkpoints, "--checkpoint-every=2")))
                .hasStackTraceContaining("rank 0, step 2: the parameter '");
        assertThat(out).doesNotExist();
        assertThat(checkpoints.toFile().list((_, name) -> name.startsWith("step-")))
                .isEmpty();
    }

    @Test
    void resumingAnotherModelIsRefused() {
        train(1, "--tiny", "--steps=1", "--checkpoint=" + folder);
        assertThatThrownBy(() -> train(1, "--tiny", "--width=32", "--checkpoint=" + folder, "--resume"))
                .hasMessageContaining("width 64")
                .hasMessageContaining("width 32");
    }

    @Test
    void anotherRunsCheckpointsAreNotTrainedOver() {
        train(1, "--tiny", "--steps=1", "--checkpoint=" + folder);
        assertThatThrownBy(() -> train(1, "--tiny", "--steps=1", "--checkpoint=" + folder))
                .hasMessageContaining("step 1 already")
                .hasMessageContaining("--resume");
    }

    @Test
    void resumingWithAnotherGlobalBatchIsSaid() {
        train(1, "--tiny", "--steps=1", "--checkpoint=" + folder);
        assertThat(train(2, "--tiny", "--steps=2", "--checkpoint=" + folder, "--resume"))
                .contains(
                        "note: the checkpoint was trained with seed 1, 8 sequences in a step, this run has seed 1, 16");
    }

    @Test
    void moreRanksThanWindowsIsAUsageError() throws IOException {
        Path text = Files.writeString(folder.resolve("short.txt"), "abcdefgh".repeat(25));
        assertThatThrownBy(() -> train(24, "--tiny", "--context=8", "--data=" + text))
                .hasMessageContaining("too few for 24 ranks");
    }

    @Test
    void heldOutLossDoesNotDependOnTheNumberOfRanks() {
        TrainingArguments options = GptArguments.parse(new String[] {"--tiny"}).orElseThrow();
        AtomicReferenceArray<Double> losses = new AtomicReferenceArray<>(4);
        for (int ranks = 1; ranks <= 3; ranks++) {
            int size = ranks;
            LocalWorld.run(size, world -> {
                try (TokenWindows data =
                        TokenWindows.open(options.data(), options.model().context(), world)) {
                    TrainableModel model =
                            TrainedModel.build(options, options.parallel().mesh(world), _ -> {});
                    losses.set(
                            size,
                            Evaluation.heldOutLoss(
                                    batch -> model.loss(batch.inputs(), batch.targets())
                                            .item_double(),
                                    new FirstHeldOut<>(data, 37),
                                    world.group(),
                                    world.device()));
                }
            });
        }
        assertThat(losses.get(2)).isCloseTo(losses.get(1), Offset.offset(1e-6));
        assertThat(losses.get(3)).isCloseTo(losses.get(1), Offset.offset(1e-6));
    }

    /** Data with fewer held-out samples. */
    private record FirstHeldOut<S>(TrainingData<S> data, long count) implements TrainingData<S> {
        @Override
        public Dataset<S> training() {
            return data.training();
        }

        @Override
        public Dataset<S> heldOut() {
            Dataset<S> all = data.heldOut();
            return new Dataset<>() {
                @Override
                public long size() {
                    return count;
                }

                @Override
                public S get(long index) throws IOException {
                    return all.get(index);
                }
            };
        }

        @Override
        public Batch batch(List<S> samples, long step) {
            return data.batch(samples, step);
        }

        @Override
        public int vocabulary() {
            return data.vocabulary();
        }

        @Override
        public String identity() {
            return data.identity();
        }
    }

    @Test
    void aTerminalGetsOneLineThatIsRewritten() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Progress progress = new Progress(new PrintStream(bytes, true, StandardCharsets.UTF_8), true);
        progress.begin(0, 4, 1000, "token");
        progress.report(2, 3.5);
        progress.report(4, 3.25);
        progress.end(Duration.ZERO);
        assertThat(bytes.toString(StandardCharsets.UTF_8))
                .matches("\\[#{6} {6}] step 2/4 loss 3\\.5000 \\d+ tokens/s ETA 0:00\u001b\\[K\\r"
                        + "\\[#{12}] step 4/4 loss 3\\.2500 \\d+ tokens/s ETA 0:00\u001b\\[K\\r"
                        + "\\Rtrained 4 steps in 0\\.\\d s: \\d+ tokens/s, 0\\.0 % of the time in"
                        + " communication\u001b\\[K\\R");
    }

    private static String[] with(List<String> first, String... more) {
        List<String> all = new ArrayList<>(first);
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    /** The output of rank 0. */
    private static String train(int ranks, String... args) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        train(bytes, ranks, args);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static void train(OutputStream printed, int ranks, String... args) {
        TrainingArguments options = GptArguments.parse(args).orElseThrow();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
    }
}
