package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.ParallelTraining.Batch;
import io.jrun.train.TinyTransformer.Options;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.hook.PeriodicModelAverager;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ReplicaCheck;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.precision.DeviceLossScaler;
import io.jrun.train.precision.LossScaler;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.precision.ScalePolicy;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every data parallelism around every way to share layers or sequences has the parameters and norms of one rank. */
class CompositionTest {
    private static final int TEXTS = 4;
    /** The largest norm of each step: bounds some steps, and not the others. */
    private static final List<Double> MAXIMA = List.of(0.2, 1e9, 0.2, 1e9, 0.2);

    private static final FusedSgd RULE = new FusedSgd(0.9, false);
    private static final LearningRateSchedule RATE = LearningRateSchedule.constant(0.05);
    private static final Options OPTIONS = Options.of(torch.ScalarType.Double);
    private static Result serial = new Result(List.of(), Map.of());

    enum Data {
        DDP,
        ZERO_1,
        ZERO_2,
        FSDP,
        HYBRID
    }

    enum Shared {
        TP,
        SP,
        CP
    }

    /** The norm of each step, and the whole parameters. */
    private record Result(List<Double> norms, Map<String, Tensor> parameters) {}

    @BeforeAll
    static void trainOneRank() {
        Libtorch.setThreads(1);
        TinyTransformer model = new TinyTransformer(OPTIONS);
        Map<String, Tensor> parameters = ModuleTensors.parameters(model);
        List<Double> norms = new ArrayList<>();
        try (FlatOptimizer optimizer = flat(Parameters.of(parameters), PaddedGradients.NONE)) {
            for (int step = 0; step < MAXIMA.size(); step++) {
                try (PointerScope _ = new PointerScope()) {
                    optimizer.zeroGradients();
                    Batch batch = ParallelTraining.batch(step, false);
                    model.loss(batch.tokens(), batch.next()).backward();
                    norms.add(Gradients.clip(Parameters.of(parameters).values(), MAXIMA.get(step))
                            .value());
                    optimizer.step();
                }
            }
        }
        serial = new Result(norms, parameters);
    }

    private static FlatOptimizer flat(Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
        return new FlatOptimizer(parameters, RULE, ParameterGroup.all(0), RATE, gradients);
    }

    static Stream<Arguments> pairs() {
        return Stream.of(Data.values())
                .flatMap(data -> Stream.of(Shared.values()).map(shared -> Arguments.of(data, shared)));
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void hasTheNormsAndParametersOfOneRank(Data data, Shared shared) {
        int copies = data == Data.HYBRID ? 2 : 1;
        LocalWorld.run(4 * copies, world -> {
            Result result = new Rank(world, data, shared, copies).train();
            for (int step = 0; step < MAXIMA.size(); step++) {
                double norm = serial.norms().get(step);
                assertThat(result.norms().get(step)).as("step %d", step).isCloseTo(norm, within(1e-12 * norm));
            }
            assertThat(result.parameters().keySet())
                    .isEqualTo(serial.parameters().keySet());
            serial.parameters()
                    .forEach((name, whole) -> assertThat(ParallelTraining.difference(
                                    Objects.requireNonNull(result.parameters().get(name)), whole))
                            .as(name)
                            .isLessThan(1e-12));
        });
    }

    private static TinyTransformer tensorParallel(MeshAxis axis) {
        TinyTransformer model = new TinyTransformer(OPTIONS);
        TensorParallel.apply(model, axis, false, TinyTransformer.plan(2));
        return model;
    }

    /** Ranks 0 and 1 share the layers of one copy, ranks 2 and 3 those of the other. */
    @Test
    void refusesGroupsWhoseRanksHoldDifferentParts() {
        LocalWorld.run(4, world -> {
            DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "tp", 2);
            TinyTransformer model = tensorParallel(mesh.axis("tp"));
            String all = "averages over the ranks [0, 1, 2, 3]";
            String part = "parameter 'tokens.weight' is divided along the axis 'tp' (ranks "
                    + (world.rank() < 2 ? "[0, 1]" : "[2, 3]") + "), but ";
            assertThatThrownBy(() -> new DistributedDataParallel<>(model, world.group()))
                    .hasMessageStartingWith(part + "DistributedDataParallel " + all);
            ProcessGroup diagonal = world.newGroup(world.rank() % 3 == 0 ? List.of(0, 3) : List.of(1, 2));
            assertThatThrownBy(() -> new DistributedDataParallel<>(model, diagonal))
                    .hasMessageContaining("parameter 'tokens.weight' along the axis 'tp' is part ");
            ProcessGroup copies = mesh.group("dp");
            assertThatThrownBy(() -> new LossScaler(ScalePolicy.DEFAULT, copies)
                            .unscale(Parameters.of(model).values()))
                    .hasMessageContaining("LossScaler decides for the ranks");
            String alone = " has no group and decides for this rank alone. Pass a group with all ranks of the axis";
            assertThatThrownBy(() -> new LossScaler(ScalePolicy.DEFAULT, null)
                            .unscale(Parameters.of(model).values()))
                    .hasMessageStartingWith(part + "LossScaler" + alone);
            try (var onDevice = new DeviceLossScaler(ScalePolicy.DEFAULT, null, Device.CPU)) {
                assertThatThrownBy(() -> onDevice.unscale(Parameters.of(model).values()))
                        .hasMessageStartingWith(part + "DeviceLossScaler" + alone);
            }
            assertThatThrownBy(() -> new NonFiniteGuard(NonFinitePolicy.SKIP, Parameters.of(model), copies))
                    .hasMessageContaining("NonFiniteGuard decides for the ranks");
            assertThatThrownBy(() -> new PeriodicModelAverager(world.group(), 1, 0).stepDone(Parameters.of(model)))
                    .hasMessageContaining("PeriodicModelAverager " + all);
            assertThatThrownBy(() -> new StateDict().putAll("model.", ModuleTensors.parameters(model)))
                    .hasMessageContaining("'model.tokens.weight' is part ")
                    .hasMessageContaining(" of 2 along the axis 'tp'");
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            FullyShard.apply(model, fsdp);
            assertThatThrownBy(fsdp::step).hasMessageStartingWith(part + "FullyShardedDataParallel " + all);
        });
    }

    /** Each rank sees its part of the gradients, so one rank alone would leave a step out. */
    @ParameterizedTest
    @EnumSource(
            value = GradientPlacement.class,
            names = {"SHARDED_STATES", "SHARDED_GRADIENTS"})
    void refusesLossScalersThatDecideForOneRankOfSharedStates(GradientPlacement placement) {
        LocalWorld.run(2, world -> {
            TinyTransformer model = new TinyTransformer(OPTIONS);
            try (var wrapped =
                    new DistributedDataParallel<>(model, world.group(), DdpOptions.DEFAULT.withPlacement(placement))) {
                var scaler = new LossScaler(ScalePolicy.DEFAULT, null);
                assertThatThrownBy(() -> scaler.unscale(Parameters.of(model).values()))
                        .hasMessageStartingWith("the gradient of parameter 'tokens.weight' is divided among the ranks"
                                + " [0, 1], but LossScaler has no group and decides for this rank alone. Pass a group");
                ProcessGroup alone = world.newGroup(List.of(world.rank()));
                assertThatThrownBy(() -> new LossScaler(ScalePolicy.DEFAULT, alone)
                                .unscale(Parameters.of(model).values()))
                        .hasMessageContaining("but LossScaler decides for the ranks [" + world.rank() + "]");
                try (var onDevice = new DeviceLossScaler(ScalePolicy.DEFAULT, null, Device.CPU)) {
                    assertThatThrownBy(
                                    () -> onDevice.unscale(Parameters.of(model).values()))
                            .hasMessageContaining("but DeviceLossScaler has no group and decides for this rank alone");
                }
                assertThat(wrapped.module()).isSameAs(model);
            }
        });
    }

    /** Also if the model is changed after the wrapper was made. */
    @Test
    void refusesGroupsWithoutTheRanksThatShareSequences() {
        LocalWorld.run(4, world -> {
            DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "cp", 2);
            TinyTransformer model = new TinyTransformer(OPTIONS);
            try (var wrapped = new DistributedDataParallel<>(model, mesh.group("dp"))) {
                ContextParallel.apply(
                        model, mesh.axis("cp"), new MeshAxis("cp", world.group()), ContextParallel.Exchange.RING);
                assertThatThrownBy(wrapped::step)
                        .hasMessageContaining(
                                "the gradients of parameter 'tokens.weight' differ along the axis 'cp'" + " (ranks ")
                        .hasMessageContaining("but DistributedDataParallel averages over the ranks ");
            }
        });
    }

    @Test
    void refusesToBoundGradientsOfAModuleWhoseRowsHaveThem() {
        LocalWorld.run(2, world -> {
            TinyTransformer model = new TinyTransformer(OPTIONS);
            Map<String, Tensor> parameters = ModuleTensors.parameters(model);
            new DistributedDataParallel<>(
                            model, world.group(), DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES))
                    .close();
            Gradients.clip(Parameters.of(parameters).values(), 1).value();
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            FullyShard.apply(model, fsdp);
            assertThatThrownBy(() -> Gradients.norm(Parameters.of(model).values()))
                    .hasMessageContaining("Pass FullyShardedDataParallel.parameters()");
        });
    }

    /** The program of one rank. */
    private static final class Rank {
        private final Data data;
        private final DeviceMesh mesh;
        private final MeshAxis tensorAxis;
        private final ProcessGroup averaged;
        private final @Nullable FullyShardedDataParallel fsdp;
        private final TinyTransformer model;
        private final Map<String, ShardedTensor> places;
        private final UnaryOperator<Tensor> ownTokens;
        private final long texts;

        Rank(World world, Data data, Shared shared, int copies) {
            this.data = data;
            String inner = shared == Shared.CP ? "cp" : "tp";
            mesh = DeviceMesh.of(world, "dp", copies, "shard", 2, inner, 2);
            texts = TEXTS / (2L * copies);
            boolean isContext = shared == Shared.CP;
            averaged = isContext ? mesh.group("dp", "shard", "cp") : mesh.group("dp", "shard");
            MeshAxis shards = isContext ? mesh.axis("shard", "cp") : mesh.axis("shard");
            fsdp = switch (data) {
                case FSDP -> new FullyShardedDataParallel(shards, FsdpOptions.DEFAULT);
                case HYBRID -> new FullyShardedDataParallel(shards, mesh.axis("dp"), FsdpOptions.DEFAULT);
                default -> null;
            };
            tensorAxis =
                    new MeshAxis("tp", isContext ? world.group().newGroup(List.of(world.rank())) : mesh.group("tp"));
            TensorParallel tensor = new TensorParallel(tensorAxis, shared == Shared.SP, TinyTransformer.plan(2));
            model = new TinyTransformer(OPTIONS, block -> {
                tensor.apply(block);
                if (fsdp != null) {
                    FullyShard.apply(block, fsdp);
                }
            });
            tensor.apply(model);
            places = Parameters.of(model);
            ownTokens = isContext
                    ? ContextParallel.apply(
                            model, mesh.axis("cp"), new MeshAxis("cp", averaged), ContextParallel.Exchange.RING)::tokens
                    : x -> x;
        }

        private Tensor loss(int step) {
            long number = mesh.coordinate("dp") * 2L + mesh.coordinate("shard");
            Batch batch = ParallelTraining.batch(step, false).texts(number * texts, texts);
            return model.loss(ownTokens.apply(batch.tokens()), ownTokens.apply(batch.next()));
        }

        Result train() {
            List<Double> norms = switch (data) {
                case DDP -> ddp();
                case ZERO_1 -> zeroOne();
                case ZERO_2 -> zeroTwo();
                case FSDP, HYBRID -> fullySharded(Objects.requireNonNull(fsdp));
            };
            ReplicaCheck.of(mesh, fsdp == null ? Parameters.of(model) : fsdp.parameters())
                    .check(MAXIMA.size());
            Map<String, Tensor> own = fsdp == null
                    ? ModuleTensors.parameters(model)
                    : fsdp.wholeParameters(
                            (_, tensor) -> TensorMemory.own(tensor.detach().clone()));
            own.replaceAll((name, tensor) -> {
                ShardedTensor place = Objects.requireNonNull(places.get(name));
                return place.withLocal(tensor).whole();
            });
            return new Result(norms, own);
        }

        private List<Double> ddp() {
            Map<String, Tensor> parameters = ModuleTensors.parameters(model);
            try (var wrapped = new DistributedDataParallel<>(model, averaged);
                    FlatOptimizer optimizer = flat(Parameters.of(parameters), wrapped.gradientMemory())) {
                List<Double> norms = new ArrayList<>();
                for (int step = 0; step < MAXIMA.size(); step++) {
                    try (var scope = wrapped.step()) {
                        optimizer.zeroGradients();
                        scope.backward(loss(step));
                        norms.add(Gradients.clip(Parameters.of(parameters).values(), MAXIMA.get(step))
                                .value());
                        optimizer.step();
                    }
                }
                return norms;
            }
        }

        private List<Double> zeroOne() {
            try (var wrapped = new DistributedDataParallel<>(
                            model, averaged, DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                    ZeroOptimizer optimizer = ZeroOptimizer.of(wrapped.reducer(), RULE, ParameterGroup.all(0), RATE)) {
                List<Double> norms = new ArrayList<>();
                for (int step = 0; step < MAXIMA.size(); step++) {
                    try (var scope = wrapped.step()) {
                        model.zero_grad(false);
                        scope.backward(loss(step));
                        norms.add(Gradients.clip(Parameters.of(model).values(), MAXIMA.get(step))
                                .value());
                        optimizer.step();
                    }
                }
                return norms;
            }
        }

        private List<Double> zeroTwo() {
            try (var wrapped = new DistributedDataParallel<>(
                            model, averaged, DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_GRADIENTS));
                    ZeroOptimizer optimizer = ZeroOptimizer.of(wrapped.reducer(), RULE, ParameterGroup.all(0), RATE)) {
                List<Double> norms = new ArrayList<>();
                for (int step = 0; step < MAXIMA.size(); step++) {
                    try (var scope = wrapped.step()) {
                        optimizer.zeroGradients();
                        scope.backward(loss(step));
                        norms.add(Gradients.clip(Parameters.of(model).values(), MAXIMA.get(step))
                                .value());
                        optimizer.step();
                    }
                }
                return norms;
            }
        }

        private List<Double> fullySharded(FullyShardedDataParallel wrapped) {
            FullyShard.apply(model, wrapped);
            try (FlatOptimizer optimizer = flat(wrapped.parameters(), wrapped.gradientMemory())) {
                List<Double> norms = new ArrayList<>();
                for (int step = 0; step < MAXIMA.size(); step++) {
                    try (var scope = wrapped.step()) {
                        optimizer.zeroGradients();
                        scope.backward(loss(step));
                        norms.add(Gradients.clip(wrapped.parameters().values(), MAXIMA.get(step))
                                .value());
                        optimizer.step();
                    }
                }
                return norms;
            }
        }
    }
}
