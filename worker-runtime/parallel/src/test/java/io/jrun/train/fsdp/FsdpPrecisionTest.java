package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.layer.FeedForward;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/**
 * Mixed precision against one rank that sees the samples of all ranks, and clipping against the norm of whole
 * gradients.
 */
class FsdpPrecisionTest {
    private static final FsdpOptions BFLOAT16 = FsdpOptions.DEFAULT.withPrecision(MixedPrecisionPolicy.BFLOAT16);

    /**
     * Each rank of {@code world} sees its part of the samples of two ranks. Half the sum of two losses has exact
     * halves.
     */
    private static Map<String, float[]> train(World world) {
        var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), BFLOAT16);
        UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
        FullyShard.apply(net, fsdp);
        try (FlatOptimizer optimizer = new FlatOptimizer(
                fsdp.parameters(),
                FusedAdamW.DEFAULT,
                ParameterGroup.all(0),
                LearningRateSchedule.constant(0.05),
                fsdp.gradientMemory())) {
            for (int i = 0; i < 3; i++) {
                try (var step = fsdp.step()) {
                    optimizer.zeroGradients();
                    for (int part = world.rank(); part < 2; part += world.size()) {
                        step.backward(net.loss(10L * i + part, 3).div(new Scalar(2.0 / world.size())));
                    }
                    optimizer.step();
                }
            }
        }
        assertThat(fsdp.parameters().values())
                .allSatisfy(shard ->
                        assertThat(shard.local().scalar_type().intern()).isEqualTo(torch.ScalarType.Float));
        return fsdp.wholeParameters((_, whole) -> {
            assertThat(whole.scalar_type().intern()).isEqualTo(torch.ScalarType.BFloat16);
            return values(whole.to(torch.ScalarType.Float));
        });
    }

    @Test
    void bfloat16OnTwoRanksHasTheBitsOfOneRank() {
        Map<String, float[]> serial =
                ShardedTraining.run(1, FsdpPrecisionTest::train).getFirst();
        assertThat(ShardedTraining.run(2, FsdpPrecisionTest::train))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(serial)));
    }

    /** Integers above 256 need more bits than bfloat16 has. */
    @Test
    void passesWithoutReductionAddUpInTheTypeOfTheReduction() {
        LocalWorld.run(2, world -> {
            LinearImpl linear = new LinearImpl(4, 4);
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), BFLOAT16);
            ModelBlock block = new ModelBlock("block", 0, linear, linear::forward);
            FullyShard.apply(block, fsdp);
            FullyShard.apply(linear, fsdp);
            ShardedTensor bias = Objects.requireNonNull(fsdp.parameters().get("block.bias"));
            Tensor x = torch.ones(1, 4);
            try (LibtorchOptimizer optimizer =
                    new LibtorchOptimizer(fsdp.parameters(), FusedSgd.PLAIN, 0, LearningRateSchedule.constant(1))) {
                try (var step = fsdp.step()) {
                    for (int pass = 0; pass < 300; pass++) {
                        try (var _ = fsdp.noSync()) {
                            step.backward(block.forward(x).sum());
                        }
                    }
                    step.backward(block.forward(x).sum());
                    assertThat(bias.gradient().mean().item_double()).isEqualTo(301);
                }
                for (Runnable drop : List.<Runnable>of(() -> linear.zero_grad(true), optimizer::zeroGradients)) {
                    try (var step = fsdp.step()) {
                        try (var _ = fsdp.noSync()) {
                            step.backward(block.forward(x).sum());
                        }
                        drop.run();
                        step.backward(block.forward(x).sum());
                        assertThat(bias.gradient().mean().item_double()).isEqualTo(1);
                    }
                }
            }
        });
    }

    /** The layers outside of all blocks compute in bfloat16 too, so blocks have outputs of this type. */
    @Test
    void aModelOfBlocksTrainsInBfloat16() {
        ShardedTraining.run(2, world -> {
            LayeredModel model = new LayeredModel(new ModelSetup(16, 8, Device.CPU, 1)) {
                {
                    first("embedding", () -> new TokenEmbedding(16, 4, Device.CPU), TokenEmbedding::forward);
                    block(() -> new FeedForward(4, 8, Device.CPU), (part, x) -> x.add(part.forward(x)));
                    last("head", () -> new LinearLayer(4, 16, true), LinearLayer::forward);
                }
            };
            model.build();
            new InitialValues(1, 1).fill(model);
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), BFLOAT16);
            FullyShard.apply(model, fsdp);
            List<Float> losses = new ArrayList<>();
            try (FlatOptimizer optimizer = new FlatOptimizer(
                    fsdp.parameters(),
                    FusedAdamW.DEFAULT,
                    ParameterGroup.all(0),
                    LearningRateSchedule.constant(0.05),
                    fsdp.gradientMemory())) {
                for (int i = 0; i < 10; i++) {
                    try (var step = fsdp.step()) {
                        Tensor tokens = torch.ones(new long[] {2, 8}).to(torch.ScalarType.Long);
                        Tensor loss = model.loss(tokens, tokens);
                        losses.add(loss.item_float());
                        step.backward(loss);
                        optimizer.step();
                        optimizer.zeroGradients();
                    }
                }
            }
            assertThat(losses.getLast()).isLessThan(losses.getFirst() / 2);
            return Map.of();
        });
    }

    @Test
    void clippingTakesTheNormOfAllShards() {
        AtomicReference<Double> expected = new AtomicReference<>(0.0);
        ShardedTraining.run(1, _ -> {
            UnevenNet net = new UnevenNet();
            for (int rank = 0; rank < 3; rank++) {
                net.loss(rank, 3).div(new Scalar(3.0)).backward();
            }
            expected.set(Gradients.norm(Parameters.of(net).values()).value());
            return Map.of();
        });
        ShardedTraining.run(3, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            try (var step = fsdp.step()) {
                step.backward(net.loss(world.rank(), 3));
                double limit = expected.get() / 2;
                assertThat(Gradients.clip(fsdp.parameters().values(), limit).value())
                        .isCloseTo(expected.get(), within(1e-6));
                assertThat(Gradients.norm(fsdp.parameters().values()).value()).isCloseTo(limit, within(1e-5));
            }
            return Map.of();
        });
    }

    /** The shards are of float32. */
    @Test
    void gradientsThatTravelInBfloat16AreThoseOfFloat32Rounded() {
        FsdpOptions narrow =
                FsdpOptions.DEFAULT.withPrecision(new MixedPrecisionPolicy(null, DataType.BF16, null, false));
        List<Map<String, float[]>> wide = ShardedTraining.run(1, world -> gradients(world, FsdpOptions.DEFAULT));
        List<Map<String, float[]>> found = ShardedTraining.run(1, world -> gradients(world, narrow));
        wide.getFirst().forEach((name, values) -> {
            Tensor rounded = Tensor.create(values).to(torch.ScalarType.BFloat16).to(torch.ScalarType.Float);
            assertThat(found.getFirst().get(name)).as(name).isEqualTo(values(rounded));
        });
    }

    private static Map<String, float[]> gradients(World world, FsdpOptions options) {
        var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), options);
        UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
        FullyShard.apply(net, fsdp);
        try (var step = fsdp.step()) {
            step.backward(net.loss(3, 3));
            Map<String, float[]> gradients = new TreeMap<>();
            fsdp.parameters().forEach((name, shard) -> gradients.put(name, values(shard.gradient())));
            return gradients;
        }
    }

    private static float[] values(Tensor tensor) {
        return TensorMemory.segment(tensor.contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }
}
