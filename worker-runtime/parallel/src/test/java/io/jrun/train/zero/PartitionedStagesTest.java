package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.tensor.TensorMemory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stages 1 and 2 of ZeRO for the stages of a pipeline: the parts, the norm, and the memory of gradients. */
class PartitionedStagesTest {
    private static final int LAYERS = 4;

    /** A matrix has the bytes of DDP's first bucket. */
    private static final long WIDTH = 512;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Layers of a matrix and a bias; the first matrix and the last are one tensor. */
    private record Net(Map<String, Tensor> parameters, List<PipelineLayer> layers) {
        static Net of(long width) {
            Map<String, Tensor> parameters = new LinkedHashMap<>();
            List<PipelineLayer> layers = new ArrayList<>();
            for (int i = 0; i < LAYERS; i++) {
                String matrix = "matrix" + i % (LAYERS - 1);
                Tensor weight = parameters.computeIfAbsent(matrix, _ -> leaf(layers.size(), width, width));
                Tensor bias = leaf(i, width);
                parameters.put("bias" + i, bias);
                layers.add(new PipelineLayer(
                        "layer" + i,
                        Map.of(matrix, weight, "bias" + i, bias),
                        x -> x.matmul(weight).add(bias).tanh()));
            }
            return new Net(parameters, layers);
        }

        private static Tensor leaf(long seed, long... shape) {
            long elements = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
            try (PointerScope _ = new PointerScope()) {
                Tensor values =
                        torch.arange(new Scalar(elements)).add(new Scalar(seed)).sin();
                return TensorMemory.own(values.mul(new Scalar(0.1)).view(shape).requires_grad_(true));
            }
        }

        long elements() {
            return parameters.values().stream().mapToLong(Tensor::numel).sum();
        }
    }

    private static Tensor mean(Tensor output, Tensor target) {
        return output.sub(target).mean();
    }

    private static List<Tensor> batch(int count, long width) {
        return Collections.nCopies(count, torch.ones(2, width));
    }

    private static StageReducer stages(int stage, DeviceMesh mesh) {
        return new StageReducer(
                mesh.axis("shard"),
                stage == 1 ? GradientPlacement.SHARDED_STATES : GradientPlacement.SHARDED_GRADIENTS);
    }

    /** The reduction belongs to the last call of a step: the gradients of both calls are then means. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void accumulatedPassesAreReducedOnceWithTheStep(int stage) {
        LocalWorld.run(2, world -> {
            DeviceMesh mesh = DeviceMesh.of(world, "shard", 2);
            List<Tensor> batch = batch(2, 8);
            double once = gradientNorm(stage, mesh, model -> {
                double _ = model.step(batch, batch);
            });
            double twice = gradientNorm(stage, mesh, model -> {
                double _ = model.accumulate(batch, batch);
                double _ = model.step(batch, batch);
            });
            assertThat(twice).isCloseTo(2 * once, within(1e-6 * once));
        });
    }

    private static double gradientNorm(int stage, DeviceMesh mesh, Consumer<PipelineParallel> passes) {
        Net net = Net.of(8);
        ProcessGroup alone = mesh.world().group().newGroup(List.of(mesh.world().rank()));
        try (PointerScope _ = new PointerScope();
                StageReducer stages = stages(stage, mesh);
                PipelineParallel model = new PipelineParallel(
                        net.layers(),
                        PartitionedStagesTest::mean,
                        new MeshAxis("pp", alone),
                        PipelineOptions.of(ScheduleKind.GPIPE, 1, 1, 2).withReplicas(stages))) {
            passes.accept(model);
            return Gradients.clip(model.parameters().values(), 1e9).value();
        }
    }

    private static ZeroOptimizer optimizer(StageReducer stages) {
        return ZeroOptimizer.of(
                stages.reducer(), FusedAdamW.DEFAULT, ParameterGroup.all(0), LearningRateSchedule.constant(1e-3));
    }

    private static void run(int ranks, Consumer<World> body) {
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            try (PointerScope _ = new PointerScope()) {
                body.accept(world);
            }
        });
    }

    /** The tied matrix is counted on both ranks of the pipeline. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void eachRankHasItsPartOfTheStates(int stage) {
        long width = 33;
        AtomicLong all = new AtomicLong();
        run(6, world -> {
            Net net = Net.of(width);
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "shard", 3);
                    StageReducer stages = stages(stage, mesh);
                    PipelineParallel model = pipeline(net, PartitionedStagesTest::mean, mesh, 2, stages);
                    ZeroOptimizer optimizer = optimizer(stages)) {
                StateDict state = new StateDict();
                optimizer.putStates(state, "");
                long held = state.entries().stream()
                        .filter(entry -> entry.name().endsWith(".exp_avg_sq"))
                        .mapToLong(entry -> entry.local().numel())
                        .sum();
                Map<String, Tensor> here = Parameters.here(model.parameters());
                long own = here.values().stream().mapToLong(Tensor::numel).sum();
                // Parameters and parts are whole cache lines of 16 elements.
                assertThat(held).isCloseTo(own / 3, within(16L * (2 + here.size())));
                all.addAndGet(held);
            }
        });
        Net net = Net.of(width);
        assertThat(all.get()).isEqualTo(net.elements() + width * width);
    }

    private static PipelineParallel pipeline(
            Net net, BinaryOperator<Tensor> loss, DeviceMesh mesh, int microBatches, StageReducer stages) {
        return new PipelineParallel(
                net.layers(),
                loss,
                mesh.axis("pp"),
                PipelineOptions.of(
                                ScheduleKind.ONE_FORWARD_ONE_BACKWARD,
                                mesh.group("pp").size(),
                                1,
                                microBatches)
                        .withReplicas(stages));
    }

    /** All ranks have the same samples, so the mean gradients are the serial ones. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void clippingTakesTheNormOfAllParts(int stage) {
        long width = 33;
        Net serial = Net.of(width);
        Tensor x = torch.ones(2, width);
        for (PipelineLayer layer : serial.layers()) {
            x = layer.forward().apply(x);
        }
        x.sub(torch.ones(2, width)).mean().backward();
        double norm =
                Gradients.norm(Parameters.of(serial.parameters()).values()).value();
        run(4, world -> {
            Net net = Net.of(width);
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "shard", 2);
                    StageReducer stages = stages(stage, mesh);
                    PipelineParallel model = pipeline(net, PartitionedStagesTest::mean, mesh, 2, stages)) {
                double _ = model.step(batch(2, width), batch(2, width));
                assertThat(Gradients.clip(model.parameters().values(), norm / 2).value())
                        .isCloseTo(norm, within(1e-6 * norm));
                assertThat(Gradients.clip(model.parameters().values(), norm).value())
                        .isCloseTo(norm / 2, within(1e-5 * norm));
            }
        });
    }

    /** An optimizer of libtorch would update each parameter by gradients of this rank's samples, or not at all. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aSecondStepWithoutAZeroOptimizerIsRefused(int stage) {
        run(2, world -> {
            Net net = Net.of(8);
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 1, "shard", 2);
                    StageReducer stages = stages(stage, mesh);
                    PipelineParallel model = pipeline(net, PartitionedStagesTest::mean, mesh, 2, stages)) {
                double _ = model.step(batch(2, 8), batch(2, 8));
                assertThatIllegalStateException()
                        .isThrownBy(() -> model.step(batch(2, 8), batch(2, 8)))
                        .withMessageContaining("ZeroOptimizer.of(reducer, ...) was not called");
            }
        });
    }

    /** The hook of the first layer runs at the end of each backward pass. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void stageTwoFreesGradientsDuringTheLastBackwardPass(int stage) {
        run(2, world -> {
            Net net = Net.of(WIDTH);
            Tensor first = Objects.requireNonNull(net.parameters().get("bias0"));
            Tensor late = Objects.requireNonNull(net.parameters().get("matrix2"));
            List<Boolean> isKept = new ArrayList<>();
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 1, "shard", 2);
                    StageReducer stages = stages(stage, mesh);
                    PipelineParallel model = pipeline(net, PartitionedStagesTest::mean, mesh, 2, stages);
                    var _ = optimizer(stages);
                    var _ = AutogradBridge.instance()
                            .watch(
                                    List.of(first),
                                    _ -> isKept.add(late.mutable_grad().defined()))) {
                for (int step = 0; step < 2; step++) {
                    stages.reducer().zeroGradients();
                    double _ = model.step(batch(2, WIDTH), batch(2, WIDTH));
                    isKept.add(first.mutable_grad().defined());
                }
            }
            boolean keeps = stage == 1;
            assertThat(isKept).containsExactly(true, keeps, keeps, true, keeps, keeps);
        });
    }

    @Test
    void aPartThatIsNotFiniteIsFound() {
        run(2, world -> {
            Net net = Net.of(33);
            BinaryOperator<Tensor> infinite =
                    (x, target) -> x.sub(target).mul(new Scalar(0.0)).sqrt().sum();
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 1, "shard", 2);
                    StageReducer stages = stages(2, mesh);
                    PipelineParallel model = pipeline(net, infinite, mesh, 1, stages)) {
                NonFiniteGuard guard =
                        NonFiniteGuard.afterPasses(NonFinitePolicy.SKIP, model.parameters(), world.group());
                assertThat(model.step(batch(1, 33), batch(1, 33))).isZero();
                assertThat(guard.mayStep(1)).isFalse();
                assertThat(guard.lastSkipped()).startsWith("rank 0, step 1: the gradient of '");
            }
        });
    }

    /**
     * Ranks of another axis divide the matrix in unequal parts, and have the same vector, which two ranks share. A
     * checkpoint takes each element once. After one step the means of AdamW are a tenth of the gradients, which are the
     * first values here.
     */
    @Test
    void ranksOfAnotherAxisHaveTheSamePartsOfTheParametersThatTheyShare() {
        run(4, world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "shard", 2, "tp", 2);
                    CheckpointManager manager = manager(world)) {
                MeshAxis axis = mesh.axis("tp");
                Map<String, Tensor> locals = new LinkedHashMap<>();
                matrixAndVector().forEach((name, whole) -> {
                    locals.put(name, whole.dim() == 2 ? rows(name, whole, axis) : whole);
                });
                try (StageReducer stages = new StageReducer(mesh.axis("shard"), GradientPlacement.SHARDED_STATES)) {
                    var _ = stages.takeOver(Map.of(0, List.of(new PipelineLayer("all", locals, x -> x))), _ -> false);
                    try (ZeroOptimizer optimizer = optimizer(stages)) {
                        locals.forEach((_, tensor) -> tensor.mutable_grad().copy_(tensor.detach()));
                        stages.await();
                        optimizer.step();
                        StateDict state = new StateDict();
                        optimizer.putStates(state, "optimizer.");
                        manager.save(1, state);
                    }
                }
            }
        });
        run(1, world -> {
            try (CheckpointManager manager = manager(world)) {
                Map<String, Tensor> saved = manager.open(1).read("optimizer.");
                matrixAndVector()
                        .forEach((name, first) -> assertThat(Objects.requireNonNull(saved.get(name + ".exp_avg"))
                                        .allclose(first.mul(new Scalar(0.1))))
                                .as(name)
                                .isTrue());
            }
        });
    }

    private static Tensor rows(String name, Tensor whole, MeshAxis axis) {
        ShardedTensor part = ShardedTensor.distribute(name, whole, new Shard(0), axis);
        Tensor rows = part.local().requires_grad_(true);
        ParameterNotes.setPlaced(part, rows);
        return rows;
    }

    private static Map<String, Tensor> matrixAndVector() {
        return new TreeMap<>(Map.of("matrix", Net.leaf(0, 33, 33), "vector", Net.leaf(1, 1500)));
    }

    private CheckpointManager manager(World world) {
        return CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT);
    }
}
