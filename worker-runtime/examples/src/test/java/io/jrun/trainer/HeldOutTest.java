package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.OwnModel;
import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.data.Dataset;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.token.TokenBatch;
import io.jrun.trainer.data.TokenWindows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Evaluations during a training, its early end, and callbacks. A step has 4 sequences on each mesh. */
class HeldOutTest {
    private static final List<String> MESHES = List.of(
            "2 --dp=2",
            "2 --shard=2",
            "2 --tp=2",
            "2 --pp=2",
            "2 --cp=2",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --tp=2 --shard=2");
    private static final Offset<Double> CLOSE = Offset.offset(1e-6);

    /** The rate makes the loss fall, and then rise. */
    private static final List<String> RISING = List.of(
            "--eval-every=1", "--patience=2", "--keep-best", "--lr=0.1", "--steps=30", "--lr-schedule=constant");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void eachMeshHasTheHeldOutLossesOfOneRank() {
        List<Double> one = train("1", "--eval-every=2", "--ema=0.5").heldOut(0);
        assertThat(one).as("after the steps 2 and 4, and at the end").hasSize(3).doesNotHaveDuplicates();
        for (String mesh : CasesOfSeed.draw(MESHES, 3)) {
            RecordedTraining found = train(mesh, "--eval-every=2", "--ema=0.5");
            for (int rank = 0; rank < found.ranks().size(); rank++) {
                for (int i = 0; i < 3; i++) {
                    assertThat(found.heldOut(rank).get(i)).as(mesh).isCloseTo(one.get(i), CLOSE);
                }
            }
        }
    }

    /** A rate of 1e-30 changes no parameter. */
    @Test
    void theHeldOutLossIsTheMeanOverWindowsOneByOne() {
        RecordedTraining still = train("2 --dp=2", "--eval-every=2", "--lr=1e-30");
        assertThat(still.heldOut(1).getFirst()).isCloseTo(lossOfWindowsOneByOne(), CLOSE);
        assertThat(still.printed()).contains("step 2 held-out loss ", ", lowest ");
    }

    private static double lossOfWindowsOneByOne() {
        TrainingArguments options = TrainingArguments.parse(
                        RecordedTraining.arguments(), ModelOptions.none(OwnModel::new), 1)
                .orElseThrow();
        double[] mean = new double[1];
        LocalWorld.run(1, world -> {
            try (TokenWindows data = TokenWindows.open(options.data(), 16, world);
                    NoGradGuard _ = new NoGradGuard()) {
                TrainableModel model = TrainedModel.build(
                        options.withData(data.vocabulary(), data.length()),
                        options.parallel().mesh(world),
                        _ -> {});
                Dataset<long[]> windows = data.heldOut();
                for (long i = 0; i < windows.size(); i++) {
                    try (PointerScope _ = new PointerScope()) {
                        Batch batch = TokenBatch.of(List.of(windows.get(i)));
                        mean[0] += model.loss(batch.inputs(), batch.targets()).item_double() / windows.size();
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return mean[0];
    }

    /** Dropout of a rank draws the same numbers, and the averages of --ema leave no trace. */
    @Test
    void evaluationsAndTextsChangeNoParameter() {
        String[] recipe = {"--ema=0.5", "--checkpoint="};
        Path without = folder.resolve("without");
        Path between = folder.resolve("between");
        train("2 --shard=2", recipe[0], recipe[1] + without);
        train("2 --shard=2", recipe[0], recipe[1] + between, "--eval-every=2", "--sample=3", "--sample-every=1");
        CheckpointContents.assertSame(
                CheckpointContents.of(between, 5), CheckpointContents.of(without, 5), "with evaluations");
    }

    /** A job that stops in between goes on with its lowest loss and its patience. */
    @Test
    void theTrainingEndsAtTheSameStepOnAllRanksAndAfterAResumption() {
        Path best = folder.resolve("best.safetensors");
        RecordedTraining whole =
                train("2 --dp=2", with(RISING, "--out=" + best, "--checkpoint=" + folder.resolve("whole")));
        int steps = whole.steps(0);
        assertThat(steps).isLessThan(30);
        assertThat(whole.steps(1)).isEqualTo(steps);
        assertThat(whole.printed())
                .contains("the training ends after step " + steps
                        + ": the held-out loss has not fallen for 2 evaluations")
                .contains("checkpoint of step " + steps);
        List<Double> losses = whole.heldOut(0).subList(0, steps);
        assertThat(losses.indexOf(Collections.min(losses))).isEqualTo(steps - 3);

        String checkpoint = "--checkpoint=" + folder.resolve("halves");
        String out = "--out=" + folder.resolve("resumed.safetensors");
        RecordedTraining first =
                RecordedTraining.run(steps - 1, "2 --dp=2", OwnModel::new, with(RISING, out, checkpoint));
        assertThat(first.steps(0)).isEqualTo(steps - 1);
        assertThat(first.printed()).contains("the training ends after step " + (steps - 1) + ": enough");
        assertThat(train("2 --dp=2", with(RISING, out, checkpoint, "--resume")).steps(1))
                .isEqualTo(steps);
        assertThat(folder.resolve("resumed.safetensors")).hasSameBinaryContentAs(best);
        RecordedTraining again = train("2 --dp=2", with(RISING, out, checkpoint, "--resume"));
        assertThat(again.printed()).contains("Give a larger --patience to train on");
        assertThat(folder.resolve("resumed.safetensors")).hasSameBinaryContentAs(best);
    }

    @Test
    void callbacksSeeStepsEvaluationsAndCheckpoints() {
        RecordedTraining found =
                train("2 --shard=2", "--eval-every=2", "--checkpoint-every=3", "--checkpoint=" + folder.resolve("c"));
        assertThat(found.ranks().get(1).events())
                .isEqualTo(found.ranks().get(0).events())
                .containsExactly(
                        "step 1",
                        "step 2",
                        "evaluated 2",
                        "step 3",
                        "saved 3",
                        "step 4",
                        "evaluated 4",
                        "step 5",
                        "ended 5",
                        "evaluated 5");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--patience=2;--patience counts evaluations without a lower loss: give --eval-every=N too",
                "--eval-every=1 --keep-best;--keep-best writes the parameters with the lowest held-out loss: give"
                        + " --out",
                "--eval-every=1 --held-out=0;--eval-every needs samples to evaluate on, and the data hold out none",
                "--held-out=0.7;--held-out is '0.7', expected a share from 0 to 0.5",
                "--prompt=a;--prompt needs --sample=N"
            })
    void whatDoesNotFitIsOneLine(String optionsAndMessage) {
        String[] parts = optionsAndMessage.split(";", 2);
        assertThatThrownBy(() -> train("1", parts[0].split(" "))).hasStackTraceContaining(parts[1]);
    }

    @Test
    void otherDataAreEvaluatedOnAndAllOfTheDataAreTrainedOn() throws IOException {
        Path text = Files.writeString(folder.resolve("text.txt"), "abcdefgh".repeat(200));
        String printed = train("1", "--eval-data=" + text, "--data=" + text, "--steps=40", "--lr=0.01")
                .printed();
        assertThat(printed).contains("on 0.0 MB of text").containsPattern("held-out loss [01]\\.");
    }

    private static RecordedTraining train(String mesh, String... more) {
        return RecordedTraining.run(mesh, OwnModel::new, more);
    }

    private static String[] with(List<String> first, String... more) {
        return Stream.concat(first.stream(), Stream.of(more)).toArray(String[]::new);
    }
}
