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
import io.jrun.train.step.Step;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

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
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                Optimizer optimizer = Rule.SGD_MOMENTUM.optimizer(module);
                model.join(joinOptions, optimizer::step, () -> {
                    for (int current = 0; current < inputs[world.rank()]; current++) {
                        try (Step step = model.step()) {
                            optimizer.zero_grad();
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
