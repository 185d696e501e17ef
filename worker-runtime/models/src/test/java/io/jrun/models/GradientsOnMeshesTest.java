package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.fsdp.MixedPrecisionPolicy;
import io.jrun.train.fsdp.ShardedStages;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** {@link Gradients} on drawn meshes: the norm, the bounded gradients and a step equal those of one rank. */
class GradientsOnMeshesTest {
    private static final int MICRO_BATCHES = 2;
    private static final int MOST_RANKS = 8;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The states that the ranks of the axes shard and cp share. */
    enum States {
        COPIES,
        ZERO_1,
        ZERO_2,
        FSDP
    }

    record Mesh(String model, int pp, int dp, int shard, int cp, int tp, boolean isSequence, States states) {
        static Mesh draw(SplittableRandom random) {
            while (true) {
                String model = random.nextBoolean() ? "gpt2" : "llama"; // 3 heads; 6 heads and 2 of keys
                States states = List.of(States.values()).get(random.nextInt(States.values().length));
                boolean isZero = states == States.ZERO_1 || states == States.ZERO_2;
                int tp = random.nextBoolean() ? 1 : model.equals("gpt2") ? 3 : 2;
                Mesh mesh = new Mesh(
                        model,
                        random.nextInt(1, 3),
                        isZero ? 1 : random.nextInt(1, 3),
                        random.nextInt(1, 4),
                        random.nextInt(1, 3),
                        tp,
                        random.nextBoolean(),
                        states);
                if (mesh.ranks() > 1 && mesh.ranks() <= MOST_RANKS) {
                    return mesh;
                }
            }
        }

        int ranks() {
            return pp * dp * shard * cp * tp;
        }

        /** The ranks that train on different texts. */
        int dataRanks() {
            return dp * shard;
        }
    }

    /** Plain gradient descent with the rate 1, so that a step shows the gradients. */
    private static FlatOptimizer flat(Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
        return new FlatOptimizer(
                parameters, FusedSgd.PLAIN, ParameterGroup.all(0), LearningRateSchedule.constant(1), gradients);
    }

    static Stream<Mesh> meshes() {
        long seed = Long.getLong("jrun.test.seed", 1);
        SplittableRandom random = new SplittableRandom(seed);
        int count = Boolean.getBoolean("jrun.soak") ? 60 : 6;
        return IntStream.range(0, count).mapToObj(_ -> Mesh.draw(random));
    }

    private LanguageModel model(Mesh mesh, String place) {
        try {
            LanguageModel model = TinyModels.write(folder.resolve(place), mesh.model());
            model.to(torch.ScalarType.Double, false);
            return model;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Tensor text(int number, int shift) {
        long[] numbers = new long[12];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i * 17L + number * 29L + shift * (i + 5L)) % 61;
        }
        return Tensor.create(numbers, 1, numbers.length);
    }

    /** The norm, the norm after the bound, and the parameters after a step. */
    private record Result(double norm, double boundedNorm, Map<String, Tensor> parameters) {}

    private Result serial(Mesh mesh) {
        LanguageModel model = model(mesh, "serial");
        Map<String, ShardedTensor> parameters = Parameters.of(model);
        int texts = MICRO_BATCHES * mesh.dataRanks();
        for (int i = 0; i < texts; i++) {
            model.loss(text(i, 0), text(i, 1)).div(new Scalar((double) texts)).backward();
        }
        double norm = Gradients.norm(parameters.values()).value();
        assertThat(Gradients.clip(parameters.values(), norm / 2).value()).isEqualTo(norm);
        double boundedNorm = Gradients.norm(parameters.values()).value();
        Map<String, Tensor> values = new LinkedHashMap<>();
        try (NoGradGuard _ = new NoGradGuard();
                FlatOptimizer optimizer = flat(parameters, PaddedGradients.NONE)) {
            optimizer.step();
            parameters.forEach(
                    (name, parameter) -> values.put(name, parameter.local().detach()));
        }
        return new Result(norm, boundedNorm, values);
    }

    @ParameterizedTest
    @MethodSource("meshes")
    void equalTheSerialOnes(Mesh mesh) {
        Result serial = serial(mesh);
        LocalWorld.run(mesh.ranks(), world -> {
            try (PointerScope _ = new PointerScope()) {
                Result result = parallel(mesh, world, serial.norm() / 2);
                assertThat(result.norm()).isCloseTo(serial.norm(), within(1e-12 * serial.norm()));
                assertThat(result.boundedNorm()).isCloseTo(serial.boundedNorm(), within(1e-12 * serial.norm()));
                assertThat(result.parameters().keySet())
                        .isEqualTo(serial.parameters().keySet());
                serial.parameters()
                        .forEach((name, expected) -> assertThat(Objects.requireNonNull(
                                                result.parameters().get(name))
                                        .sub(expected)
                                        .abs()
                                        .max()
                                        .item_double())
                                .as(name)
                                .isLessThan(1e-12));
            }
        });
    }

    /** The first and the last stage have one embedding, whose gradients are added before they are reduced. */
    @Test
    void aPipelineWithATiedEmbeddingTrainsInBfloat16() {
        LocalWorld.run(4, world -> {
            List<Double> expected = norms(world, MixedPrecisionPolicy.NONE);
            List<Double> found = norms(world, MixedPrecisionPolicy.BFLOAT16);
            for (int step = 0; step < expected.size(); step++) {
                assertThat(found.get(step)).isCloseTo(expected.get(step), withinPercentage(5));
            }
        });
    }

    /** The norms of two steps on two stages and two shards. */
    private List<Double> norms(World world, MixedPrecisionPolicy policy) {
        List<Double> norms = new ArrayList<>();
        try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "shard", 2)) {
            LanguageModel model = TinyModels.write(folder.resolve(policy.hashCode() + "-" + world.rank()), "gpt2");
            var fsdp = new FullyShardedDataParallel(mesh.axis("shard"), FsdpOptions.DEFAULT.withPrecision(policy));
            PipelineOptions options = PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, 2, 1, MICRO_BATCHES);
            List<Tensor> inputs =
                    IntStream.range(0, MICRO_BATCHES).mapToObj(i -> text(i, 0)).toList();
            List<Tensor> targets =
                    IntStream.range(0, MICRO_BATCHES).mapToObj(i -> text(i, 1)).toList();
            try (PipelineParallel pipeline = pipeline(model, mesh, options.withReplicas(new ShardedStages(fsdp)));
                    FlatOptimizer optimizer = flat(pipeline.parameters(), fsdp.gradientMemory())) {
                for (int step = 0; step < 2; step++) {
                    try (var _ = fsdp.step()) {
                        optimizer.zeroGradients();
                        double _ = pipeline.step(inputs, targets);
                        norms.add(Gradients.norm(pipeline.parameters().values()).value());
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return norms;
    }

    private Result parallel(Mesh sizes, World world, double maximum) {
        try (DeviceMesh mesh = DeviceMesh.of(
                world,
                "pp",
                sizes.pp(),
                "dp",
                sizes.dp(),
                "shard",
                sizes.shard(),
                "cp",
                sizes.cp(),
                "tp",
                sizes.tp())) {
            LanguageModel model = model(sizes, "rank" + world.rank());
            TensorParallel.apply(model, mesh.axis("tp"), sizes.isSequence(), model.tensorParallelPlan());
            ContextParallel context =
                    ContextParallel.apply(model, mesh.axis("cp"), mesh.axis("cp"), ContextParallel.Exchange.RING);
            PipelineOptions options =
                    PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, sizes.pp(), 1, MICRO_BATCHES);
            int first = (mesh.coordinate("dp") * sizes.shard() + mesh.coordinate("shard")) * MICRO_BATCHES;
            List<Tensor> inputs = IntStream.range(first, first + MICRO_BATCHES)
                    .mapToObj(i -> context.tokens(text(i, 0)))
                    .toList();
            List<Tensor> targets = IntStream.range(first, first + MICRO_BATCHES)
                    .mapToObj(i -> context.tokens(text(i, 1)))
                    .toList();
            return switch (sizes.states()) {
                case COPIES -> {
                    try (PipelineParallel pipeline =
                                    pipeline(model, mesh, options.withReplicas(mesh.axis("dp", "shard", "cp")));
                            FlatOptimizer optimizer = flat(pipeline.parameters(), PaddedGradients.NONE)) {
                        yield step(pipeline, inputs, targets, maximum, optimizer::step);
                    }
                }
                case FSDP -> {
                    var fsdp = new FullyShardedDataParallel(
                            mesh.axis("shard", "cp"), mesh.axis("dp"), FsdpOptions.DEFAULT);
                    try (PipelineParallel pipeline =
                                    pipeline(model, mesh, options.withReplicas(new ShardedStages(fsdp)));
                            FlatOptimizer optimizer = flat(pipeline.parameters(), fsdp.gradientMemory());
                            var _ = fsdp.step()) {
                        yield step(pipeline, inputs, targets, maximum, optimizer::step);
                    }
                }
                case ZERO_1, ZERO_2 -> {
                    try (StageReducer stages = new StageReducer(
                                    mesh.axis("shard", "cp"),
                                    sizes.states() == States.ZERO_1
                                            ? GradientPlacement.SHARDED_STATES
                                            : GradientPlacement.SHARDED_GRADIENTS);
                            PipelineParallel pipeline = pipeline(model, mesh, options.withReplicas(stages));
                            ZeroOptimizer optimizer = ZeroOptimizer.of(
                                    stages.reducer(),
                                    FusedSgd.PLAIN,
                                    ParameterGroup.all(0),
                                    LearningRateSchedule.constant(1))) {
                        yield step(pipeline, inputs, targets, maximum, optimizer::step);
                    }
                }
            };
        }
    }

    private static PipelineParallel pipeline(LanguageModel model, DeviceMesh mesh, PipelineOptions options) {
        return new PipelineParallel(model.pipelineLayers(), model::outputLoss, mesh.axis("pp"), options);
    }

    private static Result step(
            PipelineParallel pipeline, List<Tensor> inputs, List<Tensor> targets, double maximum, Runnable optimizer) {
        double _ = pipeline.step(inputs, targets);
        Map<String, ShardedTensor> parameters = pipeline.parameters();
        double norm = Gradients.clip(parameters.values(), maximum).value();
        double boundedNorm = Gradients.norm(parameters.values()).value();
        optimizer.run();
        Map<String, Tensor> values = new LinkedHashMap<>();
        parameters.forEach((name, parameter) -> values.put(name, TensorMemory.own(parameter.whole())));
        return new Result(norm, boundedNorm, values);
    }
}
