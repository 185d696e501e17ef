package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.DrawnCases;
import io.jrun.train.LinearStack;
import io.jrun.train.ShardedTraining;
import io.jrun.train.ShardedTraining.Trainer;
import io.jrun.train.UnevenNet;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Parameters after five steps of AdamW: fully sharded training against DistributedDataParallel, bit for bit. */
class FsdpEqualityTest {
    private static final List<String> CASES =
            List.of("1,-1,1", "2,-1,1", "3,-1,1", "4,-1,1", "2,0,1", "3,0,0", "4,2,1", "3,-1,0", "4,-1,3");

    /** Ranks, reshard after forward, prefetch: three cases in a run, all of them in a long one. */
    static List<Arguments> cases() {
        return DrawnCases.of(CASES, 3).stream()
                .map(line -> arguments((Object[]) line.split(",")))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void theBitsAreThoseOfDdp(int ranks, int reshardAfterForward, int prefetch) {
        FsdpOptions options =
                FsdpOptions.DEFAULT.withReshardAfterForward(reshardAfterForward).withPrefetch(prefetch);
        assertEqualBits(ranks, world -> ShardedTraining.fsdp(world, options, _ -> {}, 1), 1);
    }

    @Test
    void aModuleWithoutBlocksGivesTheSameBits() {
        assertEqualBits(3, ShardedTraining::wholeModule, 1);
    }

    @Test
    void recomputedUnitsGiveTheSameBits() {
        assertEqualBits(2, world -> ShardedTraining.fsdp(world, FsdpOptions.DEFAULT, ShardedTraining.RECOMPUTED, 1), 1);
    }

    @Test
    void accumulationWithoutCommunicationGivesTheSameBits() {
        assertEqualBits(3, world -> ShardedTraining.fsdp(world, FsdpOptions.DEFAULT, _ -> {}, 3), 3);
    }

    /** One replica of all shards, and replicas of one shard. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void replicasOrShardsAloneGiveTheSameBits(int ranks) {
        assertEqualBits(ranks, world -> hybrid(world, 1), 1);
        assertEqualBits(ranks, world -> hybrid(world, ranks), 1);
    }

    /** Six ranks share 1, 5 and 7 rows unequally, and some ranks have no row. */
    @ParameterizedTest
    @CsvSource({"4,2", "6,2", "6,3"})
    void replicasOfShardsGiveTheSameBits(int ranks, int replicas) {
        assertEqualBits(ranks, world -> hybrid(world, replicas), 1);
    }

    @Test
    void replicasOfShardsAccumulateAndRecomputeWithTheSameBits() {
        assertEqualBits(4, world -> hybrid(world, 2, ShardedTraining.RECOMPUTED, 3), 3);
    }

    /** Without determinism two replicas of two shards add the gradients in another order. */
    @Test
    void replicasOfShardsGiveTheSameToOneMillionth() {
        Map<String, float[]> expected =
                ShardedTraining.run(4, world -> ShardedTraining.ddp(world, 1)).getFirst();
        List<Map<String, float[]>> found = ShardedTraining.run(LocalWorldOptions.ofSize(4), world -> hybrid(world, 2));
        found.getFirst().forEach((name, values) -> {
            for (int i = 0; i < values.length; i++) {
                assertThat(Math.abs(values[i] - expected.getOrDefault(name, new float[0])[i]))
                        .as(name)
                        .isLessThanOrEqualTo(1e-6f);
            }
        });
        assertThat(found)
                .allSatisfy(rank ->
                        assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(found.getFirst())));
    }

    /** All ranks have the same samples, so the mean gradients are the serial ones. */
    @Test
    void replicasCountOnceInTheNormOfClipping() {
        UnevenNet serial = new UnevenNet();
        serial.loss(3, 3).backward();
        double norm =
                Gradients.clip(Parameters.of(serial).values(), Double.MAX_VALUE).value();
        LocalWorld.run(4, world -> {
            try (DeviceMesh mesh = mesh(world, 2)) {
                var fsdp = hybridOf(mesh);
                UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
                FullyShard.apply(net, fsdp);
                try (var step = fsdp.step()) {
                    step.backward(net.loss(3, 3));
                    assertThat(Gradients.clip(fsdp.parameters().values(), norm / 2)
                                    .value())
                            .isCloseTo(norm, within(1e-6));
                    assertThat(Gradients.norm(fsdp.parameters().values()).value())
                            .isCloseTo(norm / 2, within(1e-6));
                }
            }
        });
    }

    /** The ranks add the squares of other rows than the ranks of one copy do, in float64. */
    @Test
    void theNormOfReplicasIsEqualOnAllRanks() {
        double[] norms = new double[4];
        AtomicReference<Double> ofOneCopy = new AtomicReference<>();
        ShardedTraining.run(4, world -> {
            double norm = norm(
                    world, new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT));
            ofOneCopy.set(norm);
            try (DeviceMesh mesh = mesh(world, 2)) {
                norms[world.rank()] = norm(world, hybridOf(mesh));
            }
            return Map.of();
        });
        assertThat(norms).containsOnly(norms[0]);
        assertThat(norms[0]).isCloseTo(ofOneCopy.get(), withinPercentage(1e-13));
    }

    private static double norm(World world, FullyShardedDataParallel fsdp) {
        UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
        FullyShard.apply(net, fsdp);
        try (var step = fsdp.step()) {
            step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
            return Gradients.norm(fsdp.parameters().values()).value();
        }
    }

    @Test
    void axesOfNoCommonMeshAreRefused() {
        LocalWorld.run(4, world -> {
            try (DeviceMesh mesh = mesh(world, 2)) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> new FullyShardedDataParallel(
                                mesh.axis("shard"), new MeshAxis("dp", mesh.group("dp")), FsdpOptions.DEFAULT))
                        .withMessageContaining("the axes 'shard' and 'dp' are not axes of one mesh");
            }
        });
    }

    /** The samples of both passes are equal, so that each gradient is exactly twice the gradient of one pass. */
    @Test
    void gradientsOfTwoPassesAddUp() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            try (var step = fsdp.step()) {
                step.backward(net.loss(3, 3));
                double once = Gradients.norm(fsdp.parameters().values()).value();
                step.backward(net.loss(3, 3));
                assertThat(Gradients.norm(fsdp.parameters().values()).value()).isEqualTo(2 * once);
            }
        });
    }

    private static UnevenNet inFloat64(Consumer<ModelBlock> built) {
        Consumer<ModelBlock> convert = block -> block.module().to(torch.ScalarType.Double, false);
        UnevenNet net = new UnevenNet(convert.andThen(built));
        net.to(torch.ScalarType.Double, false);
        return net;
    }

    /** Two losses before two backward passes, an update, and a pass that adds to the gradients of that update. */
    private static void addAndUpdate(World world, UnevenNet net, Supplier<Step> steps, ParameterOptimizer optimizer) {
        for (int i = 0; i < 4; i++) {
            optimizer.zeroGradients();
            try (Step step = steps.get()) {
                Tensor first = net.loss(ShardedTraining.seed(world, i, 0), 3);
                Tensor second = net.loss(ShardedTraining.seed(world, i, 1), 3);
                step.backward(first);
                step.backward(second);
                optimizer.step();
            }
            try (Step step = steps.get()) {
                step.backward(net.loss(ShardedTraining.seed(world, i, 2), 3));
                optimizer.step();
            }
        }
    }

    private static double[] doubles(Tensor tensor) {
        return TensorMemory.segment(DeviceWaits.onHost(tensor.detach().contiguous()))
                .toArray(ValueLayout.JAVA_DOUBLE);
    }

    /**
     * DDP adds a pass to the mean of earlier passes and takes the mean of the sums. FSDP adds the mean of the pass. The
     * results differ by the rounding of these additions alone: by at most 6.0e-8 in float32 and 1.2e-16 in float64.
     */
    @Test
    void aPassAfterAnUpdateAddsToTheGradientsThatStayAsWithDdp() {
        LearningRateSchedule schedule = LearningRateSchedule.constant(0.05);
        LocalWorld.run(LocalWorldOptions.ofSize(3).withDeterministic(true), world -> {
            UnevenNet replica = inFloat64(_ -> {});
            try (var ddp = new DistributedDataParallel<>(replica, world.group());
                    FlatOptimizer optimizer = new FlatOptimizer(
                            Parameters.of(replica), FusedSgd.PLAIN, ParameterGroup.all(0), schedule)) {
                addAndUpdate(world, replica, ddp::step, optimizer);
            }
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = inFloat64(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            try (FlatOptimizer optimizer =
                    new FlatOptimizer(fsdp.parameters(), FusedSgd.PLAIN, ParameterGroup.all(0), schedule)) {
                addAndUpdate(world, net, fsdp::step, optimizer);
            }
            Map<String, Tensor> expected = ModuleTensors.parameters(replica);
            fsdp.wholeParameters((_, whole) -> doubles(whole))
                    .forEach((name, values) -> assertThat(values)
                            .as(name)
                            .containsExactly(doubles(Objects.requireNonNull(expected.get(name))), within(1e-15)));
        });
    }

    /** Parameters that have a collective of their own, with rows that the ranks cannot share equally. */
    @Test
    void largeParametersAreGatheredInTheirPlaces() {
        long width = 257;
        LinearStack serial = new LinearStack(2, width);
        serial.loss().backward();
        Map<String, Tensor> parameters = ModuleTensors.parameters(serial);
        double norm = Gradients.clip(Parameters.of(parameters).values(), Double.MAX_VALUE)
                .value();
        LocalWorld.run(3, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearStack stack = new LinearStack(2, width, block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(stack, fsdp);
            assertThat(fsdp.wholeParameters((name, tensor) -> tensor.equal(parameters.get(name))))
                    .hasSize(2)
                    .doesNotContainValue(false);
            try (var step = fsdp.step()) {
                step.backward(stack.loss());
                assertThat(Gradients.norm(fsdp.parameters().values()).value()).isCloseTo(norm, withinPercentage(0.01));
            }
        });
    }

    private static Map<String, float[]> hybrid(World world, int replicas) {
        return hybrid(world, replicas, _ -> {}, 1);
    }

    private static Map<String, float[]> hybrid(World world, int replicas, Consumer<ModelBlock> inner, int passes) {
        try (DeviceMesh mesh = mesh(world, replicas)) {
            return ShardedTraining.fsdp(world, hybridOf(mesh), inner, passes);
        }
    }

    private static DeviceMesh mesh(World world, int replicas) {
        return DeviceMesh.of(world, "dp", replicas, "shard", world.size() / replicas);
    }

    private static FullyShardedDataParallel hybridOf(DeviceMesh mesh) {
        return new FullyShardedDataParallel(mesh.axis("shard"), mesh.axis("dp"), FsdpOptions.DEFAULT);
    }

    private static void assertEqualBits(int ranks, Trainer trainer, int passes) {
        Map<String, float[]> expected = ShardedTraining.run(ranks, world -> ShardedTraining.ddp(world, passes))
                .getFirst();
        for (Map<String, float[]> rank : ShardedTraining.run(ranks, trainer)) {
            assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected));
        }
    }
}
