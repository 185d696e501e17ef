package io.jrun.train.ddp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.MixedNet;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** DDP of a model with parameters of four types against one process that averages the gradients of all ranks. */
class MixedTypesTest {
    private static final int STEPS = 4;
    private static final DdpOptions SMALL_BUCKETS = DdpOptions.DEFAULT.withBuckets(100, 300);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static boolean usesOptional(int step, int rank, boolean unused) {
        return !unused || (step + rank) % 2 == 0;
    }

    private static SGD optimizer(Module module) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        return new SGD(module.parameters(), options);
    }

    /**
     * Sums of narrow gradients are computed in float32 and rounded once, as the group does it in deterministic mode.
     */
    private static Tensor mean(List<Tensor> perRank) {
        ScalarType type = perRank.getFirst().scalar_type();
        ScalarType wide = type.intern() == ScalarType.Double ? ScalarType.Double : ScalarType.Float;
        Tensor sum = perRank.getFirst().to(wide);
        for (Tensor other : perRank.subList(1, perRank.size())) {
            sum = sum.add(other.to(wide));
        }
        return sum.div(new Scalar((double) perRank.size())).to(type);
    }

    private static List<ByteBuffer> serial(int ranks, boolean unused) {
        MixedNet net = new MixedNet(1);
        SGD optimizer = optimizer(net);
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                Map<String, List<Tensor>> gradients = new LinkedHashMap<>();
                for (int rank = 0; rank < ranks; rank++) {
                    optimizer.zero_grad();
                    net.loss(1000L * step + rank, usesOptional(step, rank, unused))
                            .backward();
                    net.weights().forEach((name, weight) -> {
                        if (weight.requires_grad()) {
                            Tensor gradient = weight.grad();
                            gradients
                                    .computeIfAbsent(name, _ -> new ArrayList<>())
                                    .add(gradient.defined() ? gradient.clone() : torch.zeros_like(weight));
                        }
                    });
                }
                gradients.forEach((name, all) -> net.weight(name).mutable_grad().put(mean(all)));
                optimizer.step();
            }
        }
        return bytes(net);
    }

    private static List<ByteBuffer> parallel(World world, boolean unused) {
        MixedNet net = new MixedNet(1 + world.rank());
        DdpOptions options = SMALL_BUCKETS.withFindUnusedParameters(unused);
        try (var model = new DistributedDataParallel<>(net, world.group(), options)) {
            assertThat(model.buckets().size()).isGreaterThan(MixedNet.TYPES.size());
            SGD optimizer = optimizer(net);
            for (int current = 0; current < STEPS; current++) {
                try (Step step = model.step()) {
                    optimizer.zero_grad();
                    step.backward(
                            net.loss(1000L * current + world.rank(), usesOptional(current, world.rank(), unused)));
                    optimizer.step();
                }
            }
        }
        return bytes(net);
    }

    private static List<ByteBuffer> bytes(Module module) {
        return ModuleTensors.all(module).values().stream()
                .map(tensor -> ByteBuffer.wrap(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_BYTE)))
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"2,false", "3,false", "2,true"})
    void parametersAndBuffersEqualTheSerialOnesBitForBit(int ranks, boolean unused) {
        List<ByteBuffer> serial = serial(ranks, unused);
        assertThat(serial).isNotEqualTo(bytes(new MixedNet(1)));
        AtomicReferenceArray<List<ByteBuffer>> results = new AtomicReferenceArray<>(ranks);
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> results.set(world.rank(), parallel(world, unused)));
        for (List<ByteBuffer> rank : Training.collect(results)) {
            assertThat(rank).isEqualTo(serial);
        }
    }

    @Test
    void aBucketHoldsOneTypeAndTheOrderIsTheSameOnAllRanks() {
        AtomicReferenceArray<List<List<String>>> buckets = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            MixedNet net = new MixedNet(1);
            try (var model = new DistributedDataParallel<>(net, world.group(), SMALL_BUCKETS);
                    Step step = model.step()) {
                step.backward(net.loss(1000L * 0 + world.rank(), true));
                buckets.set(world.rank(), model.buckets());
                for (List<String> bucket : model.buckets()) {
                    assertThat(bucket.stream()
                                    .map(name -> net.weight(name).scalar_type().intern())
                                    .distinct())
                            .hasSize(1);
                }
            }
        });
        assertThat(buckets.get(0)).isEqualTo(buckets.get(1)).hasSizeGreaterThan(MixedNet.TYPES.size());
    }

    @Test
    void gradientsOutliveDdpInEveryType() {
        LocalWorld.run(2, world -> {
            MixedNet net = new MixedNet(1);
            try (var model = new DistributedDataParallel<>(net, world.group(), SMALL_BUCKETS);
                    Step step = model.step()) {
                step.backward(net.loss(1000L * 0 + world.rank(), true));
            }
            try (NoGradGuard _ = new NoGradGuard()) {
                net.weights().forEach((name, weight) -> {
                    if (weight.requires_grad()) {
                        assertThat(weight.grad().scalar_type().value).isEqualTo(weight.scalar_type().value);
                        assertThat(weight.grad().isfinite().all().item_bool())
                                .as(name)
                                .isTrue();
                    }
                });
            }
        });
    }
}
