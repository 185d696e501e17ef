package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.Safetensors;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * train.jar with --tp, --cp and --pp, also with --shard. Compared are the parameters of the last checkpoint. A run
 * draws some of the cases; {@code -Djrun.soak=true} runs all of them.
 */
class MeshModelTest {
    static final int STEPS = 5;
    private static final int DRAWN = 4;

    /** A step has 4 sequences, on one rank as on all. */
    static final List<Mesh> MESHES = List.of(
            new Mesh(4, "--tp=2 --pp=2 --accumulate=4 --schedule=zb1p --model=llama --untied --sequence-parallel"),
            new Mesh(4, "--cp=2 --pp=2 --accumulate=4 --schedule=interleaved --model=llama --recompute=1"),
            new Mesh(4, "--dp=2 --pp=2 --accumulate=2 --schedule=zbv"),
            new Mesh(4, "--tp=2 --cp=2 --accumulate=4 --cp-exchange=all-gather"),
            new Mesh(2, "--cp=2 --accumulate=4 --cp-exchange=ulysses --model=llama --heads=4 --key-heads=2"),
            new Mesh(4, "--shard=2 --tp=2 --accumulate=2"),
            new Mesh(4, "--shard=2 --cp=2 --accumulate=2 --reshard-after-forward=2 --model=llama"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --schedule=zb1p --recompute=1"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --reshard-after-forward=yes --model=llama --untied"),
            new Mesh(8, "--shard=2 --dp=2 --tp=2 --sequence-parallel"),
            new Mesh(8, "--shard=2 --tp=2 --pp=2 --accumulate=2 --schedule=zbv"),
            new Mesh(8, "--shard=2 --tp=2 --pp=2 --accumulate=2 --schedule=interleaved --model=llama --untied"),
            new Mesh(4, "--shard=2 --tp=2 --accumulate=2 --zero=2 --optimizer=fused-sgd"),
            new Mesh(4, "--shard=2 --cp=2 --accumulate=2 --zero=1 --optimizer=fused-sgd --model=llama"),
            new Mesh(4, "--cp=4 --zero=2 --accumulate=4 --optimizer=fused-sgd"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --zero=1 --optimizer=fused-sgd"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --zero=2 --optimizer=fused-sgd --schedule=interleaved"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --zero=1 --optimizer=fused-sgd --schedule=zbv --recompute=1"),
            new Mesh(8, "--shard=2 --tp=2 --pp=2 --accumulate=2 --zero=1 --optimizer=fused-sgd --sequence-parallel"),
            new Mesh(4, "--dp=4"),
            new Mesh(4, "--shard=2 --dp=2"),
            new Mesh(2, "--shard=2 --zero=1 --accumulate=2 --optimizer=fused-sgd"),
            new Mesh(2, "--shard=2 --zero=2 --accumulate=2 --optimizer=fused-sgd"));

    /** The meshes that load a checkpoint of another mesh. */
    private static final List<Mesh> LOADING = List.of(
            new Mesh(8, "--tp=2 --pp=2 --shard=2 --schedule=interleaved"),
            new Mesh(4, "--shard=2 --tp=2 --sequence-parallel"),
            new Mesh(4, "--shard=2 --cp=2"),
            new Mesh(8, "--shard=2 --tp=2 --pp=2 --zero=1"),
            new Mesh(6, "--shard=3 --pp=2 --schedule=zbv --zero=2"),
            new Mesh(4, "--shard=2 --cp=2 --zero=1"),
            new Mesh(1, "--dp=1"),
            new Mesh(4, "--cp=2 --pp=2"),
            new Mesh(3, "--shard=3 --zero=1"),
            new Mesh(3, "--shard=3"));

    /** The meshes on which a training of one rank goes on. */
    private static final List<Mesh> CONTINUING = List.of(
            new Mesh(2, "--shard=2 --accumulate=2"),
            new Mesh(2, "--tp=2 --accumulate=4"),
            new Mesh(4, "--shard=2 --tp=2 --accumulate=2"),
            new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --zero=1 --optimizer=fused-sgd"),
            new Mesh(4, "--dp=2 --pp=2 --accumulate=2"));

    /** The options of a job on several ranks. */
    record Mesh(int ranks, String flags) {
        /** The options that change the model, not its division. */
        String modelFlags() {
            return Stream.of(flags.split(" "))
                    .filter(word -> word.matches("--(model|untied|heads|key-heads|expert-interval).*"))
                    .collect(Collectors.joining(" "));
        }
    }

    /** The types of a computation. */
    enum ComparedType {
        F32(2e-6),
        F64(1e-12);

        /** The largest difference of a parameter. */
        private final double tolerance;

        ComparedType(double tolerance) {
            this.tolerance = tolerance;
        }

        String flag() {
            return " --parameters=" + word();
        }

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        void assertClose(Map<String, double[]> found, Map<String, double[]> expected, String mesh) {
            CheckpointContents.assertClose(found, expected, tolerance, mesh);
        }
    }

    /**
     * Some steps are clipped. Others are not, so that a wrong factor of all gradients changes the parameters. The large
     * steps make mistakes larger.
     */
    static final String PARTLY_CLIPPED = " --lr=0.1 --warmup=0 --clip=1.5";

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    private static final Map<String, Map<String, double[]>> OF_ONE_RANK = new HashMap<>();

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A run draws a part of them in float64, which sees smaller mistakes; a long run takes all of them in both types. */
    static Stream<Arguments> meshes() {
        List<Mesh> drawn = CasesOfSeed.draw(MESHES, DRAWN);
        Mesh fourAxes = new Mesh(16, "--tp=2 --cp=2 --pp=2 --dp=2 --accumulate=2 --sequence-parallel");
        Mesh shards = new Mesh(16, "--tp=2 --cp=2 --pp=2 --shard=2 --accumulate=2");
        Mesh states = new Mesh(8, "--tp=2 --pp=2 --shard=2 --zero=2 --accumulate=2 --optimizer=fused-sgd");
        Mesh grouped = new Mesh(4, "--tp=2 --pp=2 --accumulate=4 --model=llama --heads=4 --key-heads=2");
        Mesh tied = new Mesh(4, "--shard=2 --pp=2 --accumulate=2 --schedule=zbv"); // one rank has both uses
        List<Mesh> also32 = CasesOfSeed.draw(
                Stream.concat(Stream.of(fourAxes), drawn.stream()).toList(), 1);
        return Stream.concat(
                Stream.concat(Stream.of(shards, states, grouped, tied), also32.stream())
                        .map(mesh -> Arguments.of(mesh, ComparedType.F32)),
                Stream.concat(Stream.of(fourAxes), drawn.stream()).map(mesh -> Arguments.of(mesh, ComparedType.F64)));
    }

    @ParameterizedTest
    @MethodSource("meshes")
    void theParametersAreThoseOfOneRank(Mesh mesh, ComparedType type) {
        String common = type.flag() + PARTLY_CLIPPED;
        Map<String, double[]> expected = OF_ONE_RANK.computeIfAbsent(
                mesh.modelFlags() + common,
                flags -> train("one", 1, with("--accumulate=4", flags.trim().split(" "))));
        Map<String, double[]> found = train("mesh", mesh.ranks(), (mesh.flags() + common).split(" "));
        type.assertClose(found, expected, mesh.flags());
    }

    static Stream<Mesh> meshesOfFloat16() {
        List<Mesh> meshes = List.of(
                new Mesh(4, "--tp=2 --pp=2 --accumulate=4 --recompute=1"),
                new Mesh(4, "--tp=2 --shard=2 --accumulate=2 --sequence-parallel"),
                new Mesh(4, "--cp=2 --shard=2 --accumulate=2"),
                new Mesh(4, "--pp=2 --shard=2 --zero=2 --accumulate=2 --schedule=zbv --optimizer=fused-sgd"));
        return CasesOfSeed.draw(meshes, 1).stream();
    }

    /** Sums round in another order. Without its division a gradient would have 65,536 times its value. */
    @ParameterizedTest
    @MethodSource("meshesOfFloat16")
    void inFloat16TheParametersAreNearlyThoseOfOneRank(Mesh mesh) {
        String common = " --precision=f16 --lr=0.1 --warmup=0 --clip=0";
        Map<String, double[]> expected = train("one", 1, ("--accumulate=4" + common).split(" "));
        Map<String, double[]> found = train("mesh", mesh.ranks(), (mesh.flags() + common).split(" "));
        CheckpointContents.assertClose(found, expected, 1e-3, mesh.flags());
    }

    /** A stage sees the micro-batches in the order of one rank, so its layers have the scales of one rank. */
    @Test
    void productsOfEightBitsOnStagesAreThoseOfOneRank() {
        String common = "--accumulate=4 --precision=fp8 --recompute=1 --lr=0.1 --warmup=0 --clip=0";
        Map<String, double[]> expected = train("one", 1, common.split(" "));
        Map<String, double[]> found = train("mesh", 2, ("--pp=2 " + common).split(" "));
        found.keySet().removeIf(name -> name.startsWith("rank")); // the scales of each rank
        expected.keySet().removeIf(name -> name.startsWith("rank"));
        CheckpointContents.assertClose(found, expected, 1e-6, "pp");
    }

    /** Meshes of which two ranks, or three, train on different sequences. */
    private static final List<Mesh> COPIES = List.of(
            new Mesh(8, "--dp=2 --tp=2 --pp=2 --accumulate=4 --schedule=interleaved"),
            new Mesh(4, "--dp=2 --pp=2 --accumulate=2 --model=llama --untied --ema=0.5"),
            new Mesh(4, "--dp=2 --pp=2 --accumulate=2 --schedule=interleaved"),
            new Mesh(4, "--dp=2 --pp=2 --accumulate=2 --schedule=zbv --recompute=1"),
            new Mesh(6, "--dp=3 --pp=2 --accumulate=2 --schedule=zb1p --on-nonfinite=skip"),
            new Mesh(4, "--dp=2 --tp=2 --accumulate=2 --sequence-parallel"),
            new Mesh(4, "--dp=2 --cp=2 --precision=bf16"));

    static Stream<Mesh> copies() {
        return CasesOfSeed.draw(COPIES, 1).stream();
    }

    /** Also the states of the optimizer. Clipping takes the norm of parts, which has other bits. */
    @ParameterizedTest
    @MethodSource("copies")
    void ranksThatShareStatesHaveTheBitsOfCopies(Mesh mesh) {
        String flags = mesh.flags() + " --optimizer=fused --clip=0";
        Map<String, double[]> expected = train("copies", mesh.ranks(), flags.split(" "));
        assertThat(expected.keySet()).anyMatch(name -> name.endsWith(".exp_avg_sq"));
        for (int stage : List.of(1, 2)) {
            String shared = flags.replace("--dp", "--zero=" + stage + " --shard");
            Map<String, double[]> found = train("stage" + stage, mesh.ranks(), shared.split(" "));
            CheckpointContents.assertSame(found, expected, shared);
        }
    }

    /** Also the states of the optimizer, and the averages of --ema. */
    @ParameterizedTest
    @EnumSource
    void aCheckpointOfOneMeshHasTheSameBitsOnAnother(ComparedType type) {
        String common = " --accumulate=4 --optimizer=fused --ema=0.5" + type.flag();
        Map<String, double[]> saved = train("state", 4, ("--tp=2 --pp=2" + common).split(" "));
        assertThat(saved.keySet())
                .anyMatch(name -> name.endsWith(".exp_avg_sq"))
                .anyMatch(name -> name.startsWith("average."));
        for (Mesh mesh : CasesOfSeed.draw(LOADING, type == ComparedType.F32 ? 3 : 1)) {
            Map<String, double[]> loaded = CheckpointContents.loadedAndSaved(
                    mesh.ranks(),
                    options("state", (mesh.flags() + common).split(" ")),
                    folder.resolve("state"),
                    STEPS,
                    folder.resolve("on" + mesh.flags().replace(' ', '_')));
            CheckpointContents.assertSame(loaded, saved, mesh.flags());
        }
    }

    /**
     * Five steps on one rank, then five on a mesh. A step has 4 sequences on each mesh. A job of another type refuses
     * the checkpoint.
     */
    @ParameterizedTest
    @EnumSource
    void aTrainingGoesOnAfterAChangeOfTheMesh(ComparedType type) throws IOException {
        String[] common = ("--lr-schedule=constant" + type.flag()).split(" ");
        String[] more = with(common, "--steps=" + (STEPS + 5), "--resume");
        train("first", 1, with(common, "--accumulate=4"));
        Map<String, double[]> expected = train("whole", 1, with(more, "--accumulate=4"));
        for (Mesh mesh : CasesOfSeed.draw(CONTINUING, type == ComparedType.F32 ? 2 : 1)) {
            String name = "on" + mesh.flags().replace(' ', '_');
            copy("first", name);
            type.assertClose(train(name, mesh.ranks(), with(mesh.flags(), more)), expected, mesh.flags());
        }
        ComparedType other = type == ComparedType.F32 ? ComparedType.F64 : ComparedType.F32;
        assertThatThrownBy(() -> train("first", 2, ("--shard=2 --resume" + other.flag()).split(" ")))
                .hasStackTraceContaining("InvalidArgumentException: the checkpoint in " + folder.resolve("first")
                        + " has parameters of " + type.word() + ", this run's are of " + other.word()
                        + ": give --parameters=" + type.word() + ", or another --checkpoint\n");
    }

    private static String[] with(String flags, String... more) {
        return with(flags.split(" "), more);
    }

    private static String[] with(String[] flags, String... more) {
        return Stream.concat(Stream.of(flags), Stream.of(more)).toArray(String[]::new);
    }

    private void copy(String from, String to) throws IOException {
        Path source = folder.resolve(from);
        try (Stream<Path> files = Files.walk(source)) {
            for (Path file : files.toList()) {
                Files.copy(file, folder.resolve(to).resolve(source.relativize(file)));
            }
        }
    }

    /** The averages of all steps, as one rank has them. */
    @ParameterizedTest
    @CsvSource({
        "--tp=2 --pp=2 --accumulate=4 --schedule=zbv, F32",
        "--shard=2 --pp=2 --accumulate=2, F64",
        "--shard=2 --pp=2 --accumulate=2 --zero=2 --optimizer=fused-sgd, F32",
        "--tp=2 --cp=2 --accumulate=4, F32"
    })
    void theEndWritesTheWholeModelAndText(String flags, ComparedType type) {
        String more = type.flag() + " --ema=0.5 --sample=4 --out=" + folder;
        train("one", 1, ("--accumulate=4" + more + "/one.safetensors").split(" "));
        printed.reset();
        train("mesh", 4, (flags + more + "/mesh.safetensors").split(" "));
        assertThat(printed.toString(StandardCharsets.UTF_8)).contains("* Returns ");
        type.assertClose(written("mesh"), written("one"), flags);
    }

    private Map<String, double[]> written(String name) {
        Map<String, double[]> values = new TreeMap<>();
        Safetensors.read(folder.resolve(name + ".safetensors"))
                .tensors()
                .forEach((tensor, value) -> values.put(tensor, CheckpointContents.values(value)));
        return values;
    }

    /** A learning rate that makes the parameters infinite in the first step. Ranks 2 and 3 have the last stage. */
    @Test
    void stepsThatAreNotFiniteStopTheJobOrAreSkipped() {
        String diverges = "--tp=2 --pp=2 --accumulate=4 --lr=1e30 --clip=0 --warmup=0 --on-nonfinite=";
        assertThatThrownBy(() -> train("stop", 4, (diverges + "stop").split(" ")))
                .hasStackTraceContaining("rank 2, step 2: the loss is not finite");
        train("skip", 4, (diverges + "skip").split(" "));
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .contains(
                        "skipped rank 2, step " + STEPS + ": the loss is not finite\n",
                        (STEPS - 1) + " steps were skipped");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2 | --tp=3 | the mesh does not fit the job: pp 1 x dp 1 x shard 1 x cp 1 x tp 3 = 3, but the job has 2",
                "2 | --tp=100000 --pp=100000 | --pp=100000 x --shard=1 x --cp=1 x --tp=100000 is too large",
                "2 | --tp=2 --heads=1 | 1 heads cannot be shared by 2 tensor parallel ranks in equal parts",
                "2 | --cp=2 --context=30 | a sequence of 30 tokens cannot be shared by 2 context parallel ranks",
                "2 | --cp=2 --cp-exchange=ulysses --heads=1 | the 1 key heads of a rank cannot be shared by --cp=2",
                "2 | --tp=2 --model=llama --key-heads=1 | 1 heads cannot be shared by 2 tensor parallel ranks",
                "2 | --tp=2 --context=31 --sequence-parallel | the 31 tokens of a rank cannot be shared by --tp=2",
                "2 | --pp=2 --accumulate=1 | 1 micro-batches are fewer than the 2 pipeline ranks: use at least 2 (--accumulate is 1, --virtual-stages is 1)",
                "2 | --pp=2 --accumulate=2 --schedule=interleaved --virtual-stages=3 | a model of 4 layers has no 6 stages",
                "2 | --pp=2 --schedule=1f2b | no schedule has the name '1f2b'",
                "2 | --virtual-stages=2 | --virtual-stages=2 needs --pp",
                "2 | --sequence-parallel | --sequence-parallel needs --tp",
                "2 | --schedule=zb1p | --schedule=zb1p needs --pp",
                "2 | --cp-exchange=ring | --cp-exchange=ring needs --cp",
                "4 | --tp=2 --shard=2 --zero=1 | --zero=1 needs --optimizer=fused or fused-sgd",
                "4 | --pp=2 --zero=2 --optimizer=fused | --zero=2 shares the states among all data ranks: give --shard=2",
                "4 | --tp=2 --shard=2 --offload=x | --offload works without --tp, --pp and --cp",
                "4 | --cp=2 --shard=2 --reshard-after-forward=3 | 3 does not divide --shard x --cp = 4",
                "2 | --tp=2 --comm-hook=bf16 | --comm-hook works without --tp, --pp and --cp"
            })
    void mistakesAreOneLineThatSaysWhatToDo(int ranks, String flags, String message) {
        assertThatThrownBy(() -> train("bad", ranks, flags.split(" ")))
                .hasStackTraceContaining("InvalidArgumentException")
                .hasStackTraceContaining(message);
    }

    /** Trains to the last step and returns the tensors of the checkpoint. */
    private Map<String, double[]> train(String name, int ranks, String... flags) {
        return train(folder, name, ranks, new PrintStream(printed, true, StandardCharsets.UTF_8), flags);
    }

    /** Trains, and returns the values of the last checkpoint, which is in {@code folder/name}. */
    static Map<String, double[]> train(Path folder, String name, int ranks, PrintStream out, String... flags) {
        TrainingArguments options = options(folder, name, flags);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> Trainer.train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT));
        return CheckpointContents.of(folder.resolve(name), options.steps());
    }

    private TrainingArguments options(String name, String... flags) {
        return options(folder, name, flags);
    }

    /** The options of a small training with its checkpoints in {@code folder/name}. */
    static TrainingArguments options(Path folder, String name, String... flags) {
        return GptArguments.parse(Stream.concat(
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
                                Stream.of(flags))
                        .toArray(String[]::new))
                .orElseThrow();
    }
}
