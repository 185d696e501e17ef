package io.jrun.train.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.CountingGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.hook.PostLocalSgdHook;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.zero.ZeroOptimizer;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks that share experts, compared with one process that computes the batches of all ranks one after the other. */
class ExpertParallelTest {
    private static final int PASSES = 2;
    private static final double CLIP = 0.5;
    private static final FusedSgd RULE = new FusedSgd(0.9, false);
    private static final LearningRateSchedule RATE = LearningRateSchedule.constant(0.1);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The states that each rank keeps. */
    enum Data {
        DDP,
        ZERO_1,
        ZERO_2,
        FSDP
    }

    /** Trains and returns the norms of the gradients before they are clipped. */
    private static List<Double> train(
            ParameterOptimizer optimizer, Map<String, ShardedTensor> parameters, IntConsumer gradients) {
        List<Double> norms = new ArrayList<>();
        for (int step = 0; step < ParallelTraining.STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zeroGradients();
                gradients.accept(step);
                norms.add(Gradients.clip(parameters.values(), CLIP).value());
                optimizer.step();
            }
        }
        return norms;
    }

    private static FlatOptimizer flat(Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
        return new FlatOptimizer(parameters, RULE, ParameterGroup.all(0), RATE, gradients);
    }

    private static int batch(int step, int pass, int rank) {
        return step * 100 + pass * 10 + rank;
    }

    private static Tensor mean(Tensor loss, int count) {
        return loss.div(new Scalar((double) count));
    }

    /** The auxiliary losses of this model are divided by the number of passes already. */
    private static List<Double> trainAlone(ExpertStack model, int ranks) {
        Map<String, ShardedTensor> parameters = Parameters.of(model);
        try (FlatOptimizer optimizer = flat(parameters, PaddedGradients.NONE)) {
            return train(optimizer, parameters, step -> {
                for (int rank = 0; rank < ranks; rank++) {
                    for (int pass = 0; pass < PASSES; pass++) {
                        mean(model.loss(batch(step, pass, rank)), PASSES).backward();
                    }
                }
                Parameters.gradients(parameters.values()).forEach(sum -> sum.div_(new Scalar((double) ranks)));
            });
        }
    }

    /** A model that ranks share, with its optimizer. */
    private record Shared(
            ExpertStack model,
            Map<String, ShardedTensor> parameters,
            ParameterOptimizer optimizer,
            Supplier<Step> steps,
            Supplier<NoSync> noSync,
            Runnable end)
            implements AutoCloseable {
        List<Double> train(int rank) {
            return ExpertParallelTest.train(optimizer, parameters, step -> {
                try (Step current = steps.get()) {
                    try (NoSync _ = noSync.get()) {
                        current.backward(mean(model.loss(batch(step, 0, rank)), PASSES));
                    }
                    current.backward(mean(model.loss(batch(step, 1, rank)), PASSES));
                }
            });
        }

        @Override
        public void close() {
            optimizer.close();
            end.run();
        }
    }

    /** @param prepare changes the model before ranks share the states */
    private static Shared share(DeviceMesh mesh, Data data, ExpertStack model, Consumer<ExpertStack> prepare) {
        new ExpertParallel(mesh.axis("ep")).apply(model);
        model.layer("gated").setLossScale(1.0 / PASSES);
        model.layer("plain").setLossScale(1.0 / PASSES);
        prepare.accept(model);
        if (data == Data.FSDP) {
            var fsdp = new FullyShardedDataParallel(mesh.axis("shard"), mesh.axis("dp", "ep"), FsdpOptions.DEFAULT);
            FullyShard.apply(model, fsdp);
            return new Shared(
                    model,
                    fsdp.parameters(),
                    flat(fsdp.parameters(), fsdp.gradientMemory()),
                    fsdp::step,
                    fsdp::noSync,
                    () -> {});
        }
        GradientPlacement placement = switch (data) {
            case ZERO_1 -> GradientPlacement.SHARDED_STATES;
            case ZERO_2 -> GradientPlacement.SHARDED_GRADIENTS;
            default -> GradientPlacement.REPLICATED;
        };
        var ddp = new DistributedDataParallel<>(
                model, mesh.group("dp", "ep"), DdpOptions.DEFAULT.withPlacement(placement));
        return new Shared(
                model,
                Parameters.of(model),
                data == Data.DDP
                        ? flat(Parameters.of(model), ddp.gradientMemory())
                        : ZeroOptimizer.of(ddp.reducer(), RULE, ParameterGroup.all(0), RATE),
                ddp::step,
                data == Data.ZERO_2 ? () -> new NoSync(() -> {}) : ddp::noSync,
                ddp::close);
    }

    /** With clipping and accumulation. Skewed: all tokens choose expert 0, so other ranks get no rows at first. */
    @ParameterizedTest
    @CsvSource({
        "DDP,2,2,1,1,Double,false",
        "DDP,4,2,2,1.25,Double,false",
        "DDP,4,4,2,0,Double,false",
        "DDP,4,2,1,0,Double,true",
        "DDP,2,1,2,0.5,Double,false",
        "DDP,2,2,2,1,Float,false",
        "ZERO_1,2,2,2,1,Double,false",
        "ZERO_1,4,2,2,1.25,Double,false",
        "ZERO_2,4,2,1,1,Double,true",
        "ZERO_2,6,2,2,1,Double,false",
        "FSDP,4,2,2,1,Double,false",
        "FSDP,8,2,1,1.25,Double,false"
    })
    void parametersAfterTenStepsEqualTheSerialOnes(
            Data data, int ranks, int ep, int topK, double factor, torch.ScalarType type, boolean isSkewed) {
        ExpertOptions options = new ExpertOptions(4, topK, factor, 0.05, 0.01);
        ExpertOptions divided = new ExpertOptions(4, topK, factor, 0.05 / PASSES, 0.01 / PASSES);
        ExpertStack serial = new ExpertStack(divided, type, isSkewed);
        List<Double> norms = trainAlone(serial, ranks);
        Map<String, Tensor> expected = new LinkedHashMap<>();
        ModuleTensors.parameters(serial).forEach((name, tensor) -> expected.put(name, tensor.detach()));
        double tolerance = ParallelTraining.tolerance(type);
        int shards = data == Data.FSDP ? 2 : 1;
        boolean isDeterministic = data != Data.FSDP; // otherwise gradients are added in two stages
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(isDeterministic), world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "dp", ranks / ep / shards, "ep", ep, "shard", shards);
                    Shared shared = share(mesh, data, new ExpertStack(options, type, isSkewed), _ -> {})) {
                List<Double> found = shared.train(world.rank());
                for (int step = 0; step < found.size(); step++) {
                    assertThat(Math.abs(found.get(step) - norms.get(step))).isLessThan(tolerance * 10);
                }
                shared.parameters()
                        .forEach((name, parameter) -> assertThat(ParallelTraining.difference(
                                        parameter.whole(), Objects.requireNonNull(expected.get(name))))
                                .as(name)
                                .isLessThan(tolerance));
                RoutingReport report = shared.model().layer("gated").report().overRanks(world.group());
                assertThat(report).isEqualTo(serial.layer("gated").report());
                assertThat(report.dropped() > 0).isEqualTo(factor > 0);
            }
        });
        assertThat(norms.getFirst()).as("the gradients are clipped").isGreaterThan(CLIP);
    }

    /** Blocks computed twice exchange twice, and give the same bits and the same counts. */
    @Test
    void recomputedLayersGiveTheSameBits() {
        ExpertOptions options = new ExpertOptions(4, 2, 1, 0.05, 0);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "dp", 1, "ep", 2);
                    Shared kept = share(mesh, Data.DDP, floats(options), _ -> {});
                    Shared again = share(mesh, Data.DDP, floats(options), Recompute::apply)) {
                kept.train(world.rank());
                again.train(world.rank());
                again.parameters().forEach((name, parameter) -> {
                    ShardedTensor other =
                            Objects.requireNonNull(kept.parameters().get(name));
                    assertThat(parameter.local().equal(other.local())).as(name).isTrue();
                });
                assertThat(again.model().layer("plain").report())
                        .isEqualTo(kept.model().layer("plain").report());
            }
        });
    }

    private static ExpertStack floats(ExpertOptions options) {
        return new ExpertStack(options, torch.ScalarType.Float, false);
    }

    /** Rank r sends r + to - 1 rows to each rank: none, one or several. Gradients come back to the rows. */
    @Test
    void rowsAndTheirGradientsTravelWithUnevenAndZeroCounts() {
        int ranks = 3;
        LocalWorld.run(ranks, world -> {
            int rank = world.rank();
            long[] counts = LongStream.range(0, ranks)
                    .map(other -> Math.max(0, rank + other - 1))
                    .toArray();
            long total = LongStream.of(counts).sum();
            Tensor rows = torch.arange(new Scalar(2 * total), new TensorOptions(torch.ScalarType.Double))
                    .add(new Scalar(100.0 * rank))
                    .view(total, 2)
                    .set_requires_grad(true);
            Tensor arrived = RowExchange.apply(rows, new MeshAxis("ep", world.group()), counts, counts);
            Tensor weight = torch.arange(new Scalar(2 * total), new TensorOptions(torch.ScalarType.Double))
                    .view(total, 2);
            Tensor back = RowExchange.apply(arrived, new MeshAxis("ep", world.group()), counts, counts);
            assertThat(back.equal(rows)).isTrue();
            arrived.mul(weight).sum().backward();
            Tensor expected = RowExchange.apply(weight, new MeshAxis("ep", world.group()), counts, counts);
            assertThat(rows.grad().equal(expected)).isTrue();
            if (rank == 2) { // Rank 0 sends its second row here, its first row goes to nobody but rank 2.
                assertThat(arrived.select(0, 0).select(0, 0).item_double()).isZero();
            }
        });
    }

    /** Rows to the experts and results back, forward and backward: 4 times T x K x D elements. */
    @Test
    void theExchangesHaveTheBytesOfTheFormula() {
        ExpertOptions options = new ExpertOptions(4, 2, 0, 0.01, 0);
        LocalWorld.run(2, world -> {
            ExpertStack model = new ExpertStack(options, torch.ScalarType.Double, false);
            CountingGroup counting = new CountingGroup(world.group());
            new ExpertParallel(new MeshAxis("ep", counting.group())).apply(model);
            model.loss(world.rank()).backward();
            long rows = model.layer("gated").report().choices();
            assertThat(rows).isEqualTo(12 * 2);
            // Rows that arrive and leave in the backward pass are as many on both ranks together.
            long[] bytes = {Objects.requireNonNull(counting.bytes().get("allToAllV"))};
            world.group().allReduce(MemorySegment.ofArray(bytes), DataType.I64, 1, ReduceOp.SUM);
            long layers = 2;
            assertThat(bytes[0]).isEqualTo(layers * world.size() * 4 * rows * ExpertStack.WIDTH * Double.BYTES);
        });
    }

    @Test
    void aGroupWithoutRanksThatShareExpertsIsAnError() {
        LocalWorld.run(4, world -> {
            DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "ep", 2);
            ExpertStack model = floats(new ExpertOptions(4, 1, 1, 0, 0));
            new ExpertParallel(mesh.axis("ep")).apply(model);
            assertThatThrownBy(() -> new DistributedDataParallel<>(model, mesh.group("dp")))
                    .hasMessageContaining(
                            "the experts 'gated.experts.gate_proj.weight' are divided along the axis 'ep'" + " (ranks ")
                    .hasMessageContaining("but DistributedDataParallel averages over the ranks ")
                    .hasMessageEndingWith("such as mesh.group(\"dp\", \"ep\").");
            assertThatThrownBy(() -> FullyShard.apply(model, mesh.axis("dp", "ep")))
                    .hasMessageContaining("are divided along the axis 'ep', but the ranks ")
                    .hasMessageContaining(" share their rows along the axis 'dp x ep'. Let copies of the model share");
        });
    }

    @Test
    void aSecondModelAndExpertsThatAreSharedAlreadyAreAnError() {
        ExpertOptions options = new ExpertOptions(2, 1, 1, 0, 0);
        LocalWorld.run(2, (World world) -> {
            MeshAxis axis = new MeshAxis("ep", world.group());
            ExpertStack model = floats(options);
            ExpertParallel experts = new ExpertParallel(axis);
            experts.apply(model);
            experts.apply(model); // has nothing left to do
            assertThatThrownBy(() -> new ExpertParallel(axis).apply(model))
                    .hasMessageContaining("ranks of the axis 'ep' share its gate_proj.weight already")
                    .hasMessageContaining("Apply ExpertParallel once");
            ExpertStack other = floats(options);
            assertThatThrownBy(() -> experts.apply(other))
                    .hasMessageContaining(
                            "layer 'gated' belongs to a second model. Each model needs its own ExpertParallel");
            FullyShardedDataParallel _ = FullyShard.apply(other, axis);
            assertThatThrownBy(() -> new ExpertParallel(axis).apply(other))
                    .hasMessageContaining("Apply ExpertParallel before FullyShard, DDP and ZeRO");
        });
    }

    @Test
    void expertsThatAreSharedAfterTheBucketsWereMadeAreAnError() {
        LocalWorld.run(2, (World world) -> {
            ExpertStack model = floats(new ExpertOptions(2, 1, 1, 0, 0));
            try (var parallel = new DistributedDataParallel<>(model, world.group())) {
                new ExpertParallel(new MeshAxis("ep", world.group())).apply(model);
                assertThatThrownBy(parallel::step)
                        .hasMessageContaining("parameter 'gated.experts.gate_proj.weight': ranks share it since")
                        .hasMessageEndingWith("Apply ExpertParallel before DistributedDataParallel.");
            }
        });
    }

    /** One subgroup would add the gradients of different experts. */
    @Test
    void aHookWithASubgroupRefusesExperts() {
        LocalWorld.run(2, (World world) -> {
            ExpertStack model = floats(new ExpertOptions(2, 1, 1, 0, 0));
            new ExpertParallel(new MeshAxis("ep", world.group())).apply(model);
            try (var parallel = new DistributedDataParallel<>(model, world.group())) {
                parallel.registerHook(new PostLocalSgdHook(world.group(), 0));
                assertThatThrownBy(() -> {
                            try (Step step = parallel.step()) {
                                step.backward(model.loss(world.rank()));
                            }
                        })
                        .hasMessageContaining("PostLocalSgdHook: the gradients of experts");
            }
        });
    }

    @Test
    void expertsThatDoNotDivideAreAnError() {
        LocalWorld.run(2, (World world) -> {
            ExpertStack model = new ExpertStack(new ExpertOptions(3, 1, 1, 0, 0), torch.ScalarType.Float, false);
            assertThatThrownBy(() -> new ExpertParallel(new MeshAxis("ep", world.group())).apply(model))
                    .hasMessageContaining("layer 'gated': 3 experts cannot be shared by 2 expert parallel ranks");
            assertThatThrownBy(() -> new ExpertParallel(new MeshAxis("ep", world.group())).apply(new CompositeModule()))
                    .hasMessageContaining("the model has no layer of the class MixtureOfExperts");
        });
    }
}
