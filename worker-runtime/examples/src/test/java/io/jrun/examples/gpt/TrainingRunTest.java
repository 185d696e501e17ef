package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.LocalWorld;
import io.jrun.comm.LocalWorldOptions;
import io.jrun.train.Libtorch;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingRunTest {
    private static final Pattern REPORT =
            Pattern.compile("step (\\d+) loss (\\d+\\.\\d{4}) tokens/s (\\d+) comm (\\d+\\.\\d)%");

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
        Matcher heldOut = Pattern.compile("held-out loss (\\S+) nats/byte \\(unigram entropy of the same text (\\S+), "
                        + "bigram (\\S+)\\)")
                .matcher(printed);
        assertThat(heldOut.find()).isTrue();
        assertThat(Double.parseDouble(heldOut.group(1))).isLessThan(Double.parseDouble(heldOut.group(2)));
        assertThat(printed).contains("* Returns ");
    }

    @Test
    void aResumedRunWritesTheCheckpointOfAnUninterruptedOne() throws IOException {
        List<String> shape = List.of("--tiny", "--batch=2", "--steps=12", "--checkpoint-every=6");
        train(2, with(shape, "--checkpoint=" + folder.resolve("whole")));
        Path halves = folder.resolve("halves");
        copy(folder.resolve("whole/step-00000006"), halves.resolve("step-00000006"));
        String printed = train(2, with(shape, "--checkpoint=" + halves, "--resume"));
        assertThat(printed).contains("from step 6 to 12");
        for (String file : List.of("model.safetensors", "optimizer.safetensors")) {
            assertThat(Files.readAllBytes(halves.resolve("step-00000012").resolve(file)))
                    .isEqualTo(Files.readAllBytes(
                            folder.resolve("whole/step-00000012").resolve(file)));
        }
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
    void resumingWithAnotherOrderOfTheDataIsSaid() {
        train(1, "--tiny", "--steps=1", "--checkpoint=" + folder);
        assertThat(train(2, "--tiny", "--steps=2", "--checkpoint=" + folder, "--resume"))
                .contains(
                        "note: the checkpoint was trained with seed 1, 1 ranks x 8 sequences, this run has seed 1, 2");
    }

    @Test
    void moreRanksThanWindowsIsAUsageError() throws IOException {
        Path text = Files.writeString(folder.resolve("short.txt"), "abcdefgh".repeat(12));
        assertThatThrownBy(() -> train(3, "--tiny", "--context=64", "--data=" + text))
                .hasMessageContaining("too few for 3 ranks");
    }

    @Test
    void heldOutLossDoesNotDependOnTheNumberOfRanks() {
        GptOptions options = GptOptions.parse(new String[] {"--tiny"}).orElseThrow();
        byte[] text = Corpus.load(options).heldOut();
        Windows windows =
                new Windows(Arrays.copyOf(text, 64 * 37 + 1), options.model().context());
        AtomicReferenceArray<Double> losses = new AtomicReferenceArray<>(4);
        for (int ranks = 1; ranks <= 3; ranks++) {
            int size = ranks;
            LocalWorld.run(
                    size,
                    world -> losses.set(
                            size, Evaluation.heldOutLoss(new Gpt(options.model(), 1), windows, world.group())));
        }
        assertThat(losses.get(2)).isCloseTo(losses.get(1), Offset.offset(1e-6));
        assertThat(losses.get(3)).isCloseTo(losses.get(1), Offset.offset(1e-6));
    }

    @Test
    void aTerminalGetsOneLineThatIsRewritten() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Progress progress = Progress.of(new PrintStream(bytes, true, StandardCharsets.UTF_8), true, 4);
        progress.report(2, 3.5, 1000, 0.015);
        progress.report(4, 3.25, 1000, 0.015);
        assertThat(bytes.toString(StandardCharsets.UTF_8))
                .isEqualTo("\r[" + "#".repeat(12) + " ".repeat(12)
                        + "] step 2 loss 3.5000 tokens/s 1000 comm 1.5%\u001b[K" + "\r[" + "#".repeat(24)
                        + "] step 4 loss 3.2500 tokens/s 1000 comm 1.5%\u001b[K" + System.lineSeparator());
    }

    private static String[] with(List<String> first, String... more) {
        List<String> all = new ArrayList<>(first);
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    /** What rank 0 prints. */
    private static String train(int ranks, String... args) {
        GptOptions options = GptOptions.parse(args).orElseThrow();
        Corpus corpus = Corpus.load(options);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            try (TrainingRun run = new TrainingRun(options, world, corpus, Progress.of(out, false, options.steps()))) {
                run.run();
            }
        });
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to);
        for (String file : List.of("model.safetensors", "optimizer.safetensors")) {
            Files.copy(from.resolve(file), to.resolve(file));
        }
    }
}
