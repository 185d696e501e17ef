package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.train.Libtorch;
import io.jrun.trainer.MeshModelTest.Mesh;
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
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** train.jar with --experts and --ep. Compared are the parameters of the last checkpoint. */
class ExpertModelTest {
    private static final int STEPS = 4;

    @TempDir
    private Path folder;

    private String printed = "";

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
        "4,--ep=2 --pp=2 --accumulate=2,--precision=f16 --capacity-factor=0,1e-3",
        "2,--ep=2 --accumulate=2 --comm-hook=bf16,--model=llama,1e-3"
    })
    void theParametersAreThoseOfOneRank(int ranks, String flags, String model, double tolerance) {
        Map<String, double[]> expected = train("one", 1, "--accumulate=4 " + model);
        Map<String, double[]> found = train("shared", ranks, flags + " " + model);
        assertThat(expected.keySet()).anyMatch(name -> name.endsWith("mlp.experts.down_proj.weight"));
        CheckpointContents.assertClose(found, expected, tolerance, flags);
    }

    private static final String FUSED = " --optimizer=fused-sgd";

    /** Meshes of 2 to 8 ranks. A step has 8 sequences. */
    private static final List<Mesh> MESHES = List.of(
            new Mesh(4, "--ep=2 --accumulate=2"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4 --schedule=zb1p --recompute=1"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4 --schedule=interleaved"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4 --schedule=zbv --model=llama"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4 --schedule=gpipe --on-nonfinite=stop"),
            new Mesh(8, "--ep=2 --pp=2 --dp=4 --accumulate=2"),
            new Mesh(2, "--pp=2 --accumulate=8"),
            new Mesh(4, "--ep=2 --tp=2 --accumulate=4 --model=llama --expert-interval=2"),
            new Mesh(8, "--ep=2 --tp=2 --pp=2 --accumulate=4"),
            new Mesh(4, "--ep=2 --shard=2 --accumulate=2"),
            new Mesh(4, "--ep=2 --shard=2 --accumulate=2 --reshard-after-forward=no --model=llama --recompute=1"),
            new Mesh(8, "--ep=2 --shard=2 --dp=4 --accumulate=1" + FUSED),
            new Mesh(8, "--ep=2 --shard=2 --pp=2 --accumulate=2 --schedule=zb1p"),
            new Mesh(8, "--ep=2 --shard=2 --tp=2 --accumulate=2"),
            new Mesh(2, "--shard=2 --accumulate=4 --expert-interval=2"),
            new Mesh(4, "--ep=2 --shard=4 --zero=1 --accumulate=2" + FUSED),
            new Mesh(4, "--ep=2 --shard=4 --zero=2 --accumulate=2 --model=llama" + FUSED),
            new Mesh(4, "--ep=2 --shard=2 --pp=2 --zero=1 --accumulate=4" + FUSED),
            new Mesh(8, "--ep=2 --shard=4 --pp=2 --zero=2 --accumulate=2 --schedule=interleaved" + FUSED));

    static List<Mesh> meshes() {
        return CasesOfSeed.draw(MESHES, 4);
    }

    /** Some steps are clipped. Each mesh reports the choices and the operations of one rank. */
    @ParameterizedTest
    @MethodSource("meshes")
    void theParametersAreThoseOfOneRankOnEachMesh(Mesh mesh) {
        String common = " --parameters=f64 --lr=0.1 --warmup=0 --clip=1.5 --peak-flops=1e12 ";
        Map<String, double[]> expected = train("one", 1, "--accumulate=8" + common + mesh.modelFlags());
        List<String> reported = reports();
        Map<String, double[]> found = train("mesh", mesh.ranks(), mesh.flags() + common);
        CheckpointContents.assertClose(found, expected, 1e-12, mesh.flags());
        assertThat(reports()).isEqualTo(reported).hasSize(2);
    }

    private List<String> reports() {
        return printed.lines()
                .filter(line -> line.startsWith("experts: ") || line.startsWith("mfu: "))
                .map(line -> line.replaceAll(", peak of all ranks.*", ""))
                .toList();
    }

    private static final List<Mesh> SAVING = List.of(
            new Mesh(4, "--ep=4"),
            new Mesh(1, "--accumulate=4"),
            new Mesh(4, "--ep=2 --pp=2 --accumulate=4 --schedule=interleaved"),
            new Mesh(4, "--ep=2 --shard=2"),
            new Mesh(4, "--ep=2 --shard=4 --zero=2"),
            new Mesh(4, "--ep=2 --tp=2"));

    private static final List<Mesh> LOADING = List.of(
            new Mesh(2, "--ep=2"),
            new Mesh(8, "--ep=4 --pp=2 --accumulate=2"),
            new Mesh(8, "--ep=2 --shard=2 --pp=2 --accumulate=2"),
            new Mesh(2, "--shard=2"),
            new Mesh(4, "--ep=2 --shard=2 --pp=2 --zero=1 --accumulate=4"));

    static Stream<Arguments> pairs() {
        List<Arguments> all = SAVING.stream()
                .flatMap(saving -> LOADING.stream().map(loading -> Arguments.of(saving, loading)))
                .toList();
        return CasesOfSeed.draw(all, 2).stream();
    }

    /** Also the states of the optimizer. The second job makes no step, and saves the state that it has loaded. */
    @ParameterizedTest
    @MethodSource("pairs")
    void aCheckpointOfOneMeshHasTheSameBitsOnAnother(Mesh saving, Mesh loading) {
        String common = " --optimizer=fused --ema=0.5";
        Map<String, double[]> saved = train("state", saving.ranks(), saving.flags() + common);
        assertThat(saved.keySet())
                .anyMatch(name -> name.endsWith("mlp.experts.up_proj.weight.exp_avg_sq"))
                .anyMatch(name -> name.startsWith("average."));
        Map<String, double[]> loaded = train("state", loading.ranks(), loading.flags() + common + " --resume");
        CheckpointContents.assertSame(loaded, saved, loading.flags());
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
                "2 | --ep=2 --shard=2 | --ep=2 does not divide the 1 ranks of --dp: the ranks that share the experts are copies",
                "3 | --ep=2 --shard=3 --zero=1 --optimizer=fused | --ep=2 does not divide the 3 ranks of --shard",
                "2 | --cp=2 | --experts does not work with --cp and --sequence-parallel: the capacity of an expert and",
                "2 | --tp=2 --sequence-parallel | --experts does not work with --cp and --sequence-parallel: the",
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
        printed = bytes.toString(StandardCharsets.UTF_8);
        return printed;
    }
}
