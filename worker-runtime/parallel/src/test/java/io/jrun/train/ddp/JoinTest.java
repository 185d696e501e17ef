package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.DrawnCases;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.ddp.Training.Rule;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.zero.ZeroOptimizer;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks with unequal numbers of inputs against one process that adds up the gradients of those that have some. */
class JoinTest {
    private static final DdpOptions SMALL_BUCKETS = DdpOptions.DEFAULT.withBuckets(2000, 10_000);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static List<float[]> serial(int[] inputs, boolean divideByInitialSize) {
        TinyGpt module = Training.model(1);
        Optimizer optimizer = Rule.SGD_MOMENTUM.optimizer(module);
        int most = Arrays.stream(inputs).max().orElseThrow();
        for (int step = 0; step < most; step++) {
            int current = step;
            long active = Arrays.stream(inputs).filter(count -> count > current).count();
            double divisor = divideByInitialSize ? inputs.length : active;
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                for (int rank = 0; rank < inputs.length; rank++) {
                    if (step < inputs[rank]) {
                        Training.loss(module, step, rank)
                                .div(new Scalar(divisor))
                                .backward();
                    }
                }
                optimizer.step();
            }
        }
        return Training.values(module);
    }

    private static List<List<float[]>> parallel(int[] inputs, DdpOptions options, JoinOptions joinOptions) {
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(inputs.length);
        LocalWorld.run(LocalWorldOptions.ofSize(inputs.length).withDeterministic(true), world -> {
            TinyGpt module = Training.model(1 + world.rank());
            try (var model = new DistributedDataParallel<>(module, world.group(), options);
                    ParameterOptimizer optimizer = optimizer(model)) {
                model.join(joinOptions, optimizer::step, () -> {
                    for (int current = 0; current < inputs[world.rank()]; current++) {
                        try (Step step = model.step()) {
                            optimizer.zeroGradients();
                            step.backward(Training.loss(module, current, world.rank()));
                            optimizer.step();
                        }
                    }
                });
                results.set(world.rank(), Training.values(module));
            }
        });
        return Training.collect(results);
    }

    private static ParameterOptimizer optimizer(DistributedDataParallel<TinyGpt> model) {
        UpdateRule rule = new FusedSgd(0.9, false);
        return model.reducer().placement() == GradientPlacement.REPLICATED
                ? new LibtorchOptimizer(Parameters.of(model.module()), rule, 0, _ -> 0.05)
                : ZeroOptimizer.of(model.reducer(), rule, ParameterGroup.all(0), _ -> 0.05);
    }

    /** By default two cases that the seed draws. All cases under -Djrun.soak=true. */
    static List<Arguments> cases() {
        List<Arguments> all = List.of(
                Arguments.of(new int[] {5, 2}, SMALL_BUCKETS),
                Arguments.of(new int[] {0, 3, 2}, SMALL_BUCKETS),
                Arguments.of(new int[] {2, 4}, SMALL_BUCKETS.withFindUnusedParameters(true)),
                Arguments.of(new int[] {0, 3}, SMALL_BUCKETS.withStaticGraph(true)),
                Arguments.of(new int[] {3, 3}, SMALL_BUCKETS));
        return DrawnCases.of(all, 2);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void equalsSerialAccumulationOverTheInputsThereAre(int[] inputs, DdpOptions options) {
        for (boolean divideByInitialSize : new boolean[] {true, false}) {
            List<float[]> serial = serial(inputs, divideByInitialSize);
            List<List<float[]>> perRank =
                    parallel(inputs, options, JoinOptions.DEFAULT.withDivideByInitialSize(divideByInitialSize));
            for (List<float[]> rank : perRank) {
                assertThat(Training.largestDifference(rank, serial)).isLessThanOrEqualTo(1e-6f);
                assertEqualBits(rank, perRank.getFirst());
            }
        }
    }

    /** ZeRO 1 and 2: a joined rank has no means of earlier steps in its parts. */
    @ParameterizedTest
    @EnumSource(names = {"SHARDED_STATES", "SHARDED_GRADIENTS"})
    void ranksThatShareStatesEqualSerialAccumulation(GradientPlacement placement) {
        for (int[] inputs : new int[][] {{1, 3}, {0, 1, 4}}) {
            List<float[]> serial = serial(inputs, true);
            List<List<float[]>> perRank = parallel(inputs, SMALL_BUCKETS.withPlacement(placement), JoinOptions.DEFAULT);
            for (List<float[]> rank : perRank) {
                assertThat(Training.largestDifference(rank, serial)).isLessThanOrEqualTo(1e-6f);
                assertEqualBits(rank, perRank.getFirst());
            }
        }
    }

    /**
     * Only the first step uses all parameters. Later steps leave gradients of zeros, which weight decay and momentum
     * change. A rank without inputs makes the same updates.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRankWithoutInputsHasTheUnusedGradientsOfTheOthers(boolean dropsGradients) {
        TinyGpt serial = Training.model(1);
        try (ParameterOptimizer optimizer = unusedGradients(Parameters.of(serial), PaddedGradients.NONE)) {
            for (int current = 0; current < 3; current++) {
                zero(serial, optimizer, dropsGradients);
                lossOfStep(serial, current).div(new Scalar(2.0)).backward();
                optimizer.step();
            }
        }
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(2);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            TinyGpt module = Training.model(1);
            DdpOptions options = SMALL_BUCKETS.withFindUnusedParameters(true);
            try (var model = new DistributedDataParallel<>(module, world.group(), options);
                    var optimizer = unusedGradients(Parameters.of(module), model.gradientMemory())) {
                model.join(JoinOptions.DEFAULT, optimizer::step, () -> {
                    for (int current = 0; current < 3 * world.rank(); current++) {
                        try (Step step = model.step()) {
                            zero(module, optimizer, dropsGradients);
                            step.backward(lossOfStep(module, current));
                            optimizer.step();
                        }
                    }
                });
                results.set(world.rank(), Training.values(module));
            }
        });
        assertEqualBits(results.get(0), results.get(1));
        assertThat(Training.largestDifference(results.get(0), Training.values(serial)))
                .isLessThanOrEqualTo(1e-6f);
    }

    /** Only the first step uses all parameters, and no gradient is dropped. The sums are divided by the number of all ranks. */
    @Test
    void aGradientThatNoRankUsesKeepsItsValue() {
        AtomicReferenceArray<float[]> gradients = new AtomicReferenceArray<>(3);
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            Tensor unused =
                    List.copyOf(ModuleTensors.parameters(module).values()).getLast();
            DdpOptions options = SMALL_BUCKETS.withFindUnusedParameters(true);
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                model.join(JoinOptions.DEFAULT, () -> {}, () -> {
                    for (int current = 0; current < 3 * world.rank(); current++) {
                        try (Step step = model.step()) {
                            step.backward(lossOfStep(module, current));
                        }
                        if (current == 0) {
                            gradients.set(2, floats(unused.grad()));
                        }
                    }
                });
                gradients.set(world.rank(), floats(unused.grad()));
            }
        });
        assertThat(gradients.get(2)).as("the test needs a gradient").isNotEqualTo(new float[gradients.get(2).length]);
        assertEqualBits(List.of(gradients.get(0), gradients.get(1)), List.of(gradients.get(2), gradients.get(2)));
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.segment(tensor.contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }

    private static ParameterOptimizer unusedGradients(Map<String, ShardedTensor> parameters, PaddedGradients memory) {
        return new FlatOptimizer(parameters, new FusedSgd(0.9, false), ParameterGroup.all(0.1), _ -> 0.05, memory);
    }

    private static void zero(TinyGpt module, ParameterOptimizer optimizer, boolean dropsGradients) {
        if (dropsGradients) {
            module.zero_grad(true);
        } else {
            optimizer.zeroGradients();
        }
    }

    private static Tensor lossOfStep(TinyGpt module, int step) {
        return step == 0 ? Training.loss(module, 0, 1) : module.lossOfEmbeddings();
    }

    /** Rank 0 has no pass of its own to observe. */
    @Test
    void bucketsAreRebuiltInTheOrderOfARankWithInputs() {
        AtomicReferenceArray<List<List<String>>> buckets = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            DdpOptions options = DdpOptions.DEFAULT.withBuckets(1, 1);
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                List<List<String>> before = model.buckets();
                model.join(JoinOptions.DEFAULT, () -> {}, () -> {
                    if (world.rank() == 1) {
                        try (Step step = model.step()) {
                            step.backward(Training.loss(module, 0, 1));
                        }
                    }
                });
                assertThat(model.buckets()).isNotEqualTo(before).containsExactlyInAnyOrderElementsOf(before);
                buckets.set(world.rank(), model.buckets());
            }
        });
        assertThat(buckets.get(0)).isEqualTo(buckets.get(1));
    }

    @Test
    void earlyTerminationIsThrownOnAllRanks() {
        AtomicReferenceArray<String> messages = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                assertThatThrownBy(() ->
                                model.join(JoinOptions.DEFAULT.withThrowOnEarlyTermination(true), () -> {}, () -> {
                                    for (int current = 0; current < 2 + world.rank(); current++) {
                                        try (Step step = model.step()) {
                                            step.backward(Training.loss(module, current, world.rank()));
                                        }
                                    }
                                }))
                        .isInstanceOfSatisfying(
                                EarlyTerminationException.class,
                                e -> messages.set(world.rank(), String.valueOf(e.getMessage())));
                assertThat(model.report().reductions()).isEqualTo(2);
            }
        });
        assertThat(messages.get(0))
                .contains("rank 0 has no inputs left, but rank 1 has")
                .isEqualTo(messages.get(1));
    }

    /** Equally many inputs end without an error; a failure of the training is not followed by steps of the others. */
    @Test
    void aFailureInsideJoinComesOutAsItself() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    try (var model = new DistributedDataParallel<>(Training.model(1), world.group())) {
                        model.join(JoinOptions.DEFAULT, () -> {}, () -> {
                            throw new IllegalStateException("no data");
                        });
                    }
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no data");
    }
}
