package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** train.jar with --experts and --ep. Compared are the parameters of the last checkpoint. */
class ExpertModelTest {
    private static final int STEPS = 4;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A step has 4 sequences, on one rank as on all. In bfloat16 a sum of several ranks rounds in another order. */
    @ParameterizedTest
    @CsvSource({
        "4,--ep=2 --accumulate=1,--recompute=1,2e-6",
        "2,--ep=2 --accumulate=2 --on-nonfinite=stop,--model=llama --expert-interval=2 --top-k=1,2e-6",
        "2,--ep=2 --accumulate=2,--precision=bf16 --capacity-factor=0,1e-3",
        "4,--ep=2 --accumulate=1,--parameters=f64,1e-12"
    })
    void theParametersAreThoseOfOneRank(int ranks, String flags, String model, double tolerance) {
        Map<String, double[]> expected = train("one", 1, "--accumulate=4 " + model);
        Map<String, double[]> found = train("shared", ranks, flags + " " + model);
        assertThat(expected.keySet()).anyMatch(name -> name.endsWith("mlp.experts.down_proj.weight"));
        CheckpointContents.assertClose(found, expected, tolerance, flags);
    }

    /** Also the states of the optimizer. The second job makes no step, and saves the state that it has loaded. */
    @ParameterizedTest
    @CsvSource({"4,--ep=4,2,--ep=2", "1,--accumulate=4,2,--ep=2 --accumulate=2"})
    void aCheckpointOfOneMeshHasTheSameBitsOnAnother(int ranks, String flags, int others, String otherFlags) {
        Map<String, double[]> saved = train("state", ranks, flags + " --optimizer=fused");
        Map<String, double[]> loaded = train("state", others, otherFlags + " --optimizer=fused --resume");
        CheckpointContents.assertSame(loaded, saved, otherFlags);
    }

    /** The second job makes no step. With --ema the file has the averages. */
    @Test
    void theFileOfTheParametersHasAllExperts() {
        Path whole = folder.resolve("whole.safetensors");
        Path shared = folder.resolve("shared.safetensors");
        run(1, "out", "--experts=4 --ema=0.5 --accumulate=4 --out=" + whole);
        run(2, "out", "--experts=4 --ema=0.5 --accumulate=2 --ep=2 --resume --out=" + shared);
        assertThat(shared).hasSameBinaryContentAs(whole);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2 | --experts=3 --ep=2 | --ep=2 does not divide --experts=3: each rank has an equal part of the experts",
                "3 | --ep=2 | --ep=2 does not divide the 3 ranks of --dp",
                "1 | --top-k=5 | --top-k=5 is more than --experts=4",
                "1 | --expert-interval=3 | --expert-interval=3 leaves a model of 2 layers without experts",
                "2 | --tp=2 | --experts does not work with --tp: a model with experts works with --dp",
                "2 | --pp=2 --ep=2 | --experts does not work with --pp",
                "2 | --shard=2 | --experts does not work with --shard",
                "2 | --comm-hook=bf16 | --experts does not work with --comm-hook",
                "1 | --capacity-factor=-1 | --capacity-factor is '-1', expected 0 or a number above 0"
            })
    void mistakesAreOneLineThatSaysWhatToDo(int ranks, String flags, String message) {
        assertThatThrownBy(() -> run(ranks, "bad", "--experts=4 " + flags))
                .hasStackTraceContaining("InvalidArgumentException")
                .hasStackTraceContaining(message);
        assertThatThrownBy(() -> GptArguments.parse(new String[] {"--ep=2"}))
                .hasMessage("--ep needs --experts=N: the model has no experts");
    }

    /** Trains to step {@link #STEPS} and returns the tensors of the checkpoint. */
    private Map<String, double[]> train(String name, int ranks, String flags) {
        assertThat(run(ranks, name, "--experts=4 " + flags).contains("of the choices were dropped"))
                .as("a job that makes steps reports the choices")
                .isNotEqualTo(flags.contains("--resume"));
        return CheckpointContents.of(folder.resolve(name), STEPS);
    }

    private String run(int ranks, String name, String flags) {
        TrainingArguments options = GptArguments.parse(Stream.concat(
                                Stream.of(
                                        "--tiny",
                                        "--steps=" + STEPS,
                                        "--layers=2",
                                        "--width=32",
                                        "--context=32",
                                        "--micro-batch=1",
                                        "--optimizer=sgd",
                                        "--max-bytes=60000",
                                        "--clip=0.5",
                                        "--checkpoint=" + folder.resolve(name)),
                                Stream.of(flags.split(" ")))
                        .toArray(String[]::new))
                .orElseThrow();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
