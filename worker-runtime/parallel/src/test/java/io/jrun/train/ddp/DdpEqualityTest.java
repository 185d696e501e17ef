package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.DrawnCases;
import io.jrun.train.Libtorch;
import io.jrun.train.ddp.Training.Clearing;
import io.jrun.train.ddp.Training.Rule;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientReducer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * DDP against one process that adds up the gradients of the ranks. Compares the parameters after ten steps. The seed
 * draws some of the cases; -Djrun.soak=true takes all.
 */
class DdpEqualityTest {
    /** Several buckets even in a small model, so that order and rebuilding matter. */
    private static final DdpOptions SMALL_BUCKETS = DdpOptions.DEFAULT.withBuckets(2000, 10_000);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    static List<Arguments> deterministicCases() {
        return DrawnCases.of(
                List.of(
                        Arguments.of(2, Clearing.DROP),
                        Arguments.of(2, Clearing.ZERO),
                        Arguments.of(4, Clearing.DROP),
                        Arguments.of(4, Clearing.ZERO)),
                2);
    }

    @ParameterizedTest
    @MethodSource("deterministicCases")
    void deterministicModeEqualsSerialAccumulationBitForBit(int ranks, Clearing clearing) {
        List<float[]> serial = Training.serial(ranks, Rule.ADAMW);
        for (List<float[]> rank : run(ranks, true, SMALL_BUCKETS, Rule.ADAMW, clearing, GradientReducer::new)) {
            assertEqualBits(rank, serial);
        }
    }

    static List<Integer> rankCounts() {
        return DrawnCases.of(List.of(1, 2, 3, 4), 2);
    }

    @ParameterizedTest
    @MethodSource("rankCounts")
    void everyModeEqualsSerialAccumulationToOneMillionth(int ranks) {
        List<float[]> serial = Training.serial(ranks, Rule.SGD_MOMENTUM);
        List<List<float[]>> perRank =
                run(ranks, false, SMALL_BUCKETS, Rule.SGD_MOMENTUM, Clearing.DROP, GradientReducer::new);
        for (List<float[]> rank : perRank) {
            assertThat(Training.largestDifference(rank, serial)).isLessThanOrEqualTo(1e-6f);
            assertEqualBits(rank, perRank.getFirst());
        }
    }

    @Test
    void oneBigBucketAndManySmallOnesGiveEqualBits() {
        List<float[]> serial = Training.serial(2, Rule.ADAMW);
        for (DdpOptions options : List.of(DdpOptions.DEFAULT, DdpOptions.DEFAULT.withBuckets(1, 1))) {
            for (List<float[]> rank : run(2, true, options, Rule.ADAMW, Clearing.DROP, GradientReducer::new)) {
                assertEqualBits(rank, serial);
            }
        }
    }

    @Test
    void findingUnusedParametersChangesNothingWhenAllAreUsed() {
        List<float[]> serial = Training.serial(2, Rule.ADAMW);
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(2);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            DdpOptions options = SMALL_BUCKETS.withFindUnusedParameters(true);
            results.set(
                    world.rank(), Training.parallel(world, options, Rule.ADAMW, Clearing.DROP, GradientReducer::new));
        });
        for (List<float[]> rank : Training.collect(results)) {
            assertEqualBits(rank, serial);
        }
    }

    @Test
    void aMissingAllReduceIsNoticed() {
        assertThat(errorWithHook((_, _) -> () -> {})).isGreaterThan(1e-4f);
    }

    @Test
    void aSumInsteadOfAMeanIsNoticed() {
        assertThat(errorWithHook((bucket, group) ->
                        BucketReduction.of(bucket, group.allReduceAsync(bucket.buffer(), ReduceOp.SUM))))
                .isGreaterThan(1e-4f);
    }

    private static float errorWithHook(CommunicationHook hook) {
        return error(2, (parameters, group, options) -> {
            GradientReducer reducer = new GradientReducer(parameters, group, options);
            reducer.setHook(hook);
            return reducer;
        });
    }

    @Test
    void aGradientLeftOutsideItsBucketIsNoticed() {
        assertThat(error(2, (parameters, group, options) -> new GradientReducer(parameters, group, options) {
                    @Override
                    protected void moveIntoBucket(int parameter) {}
                }))
                .isGreaterThan(1e-4f);
    }

    private static float error(int ranks, DistributedDataParallel.ReducerFactory mutant) {
        List<List<float[]>> perRank = run(ranks, true, SMALL_BUCKETS, Rule.SGD_MOMENTUM, Clearing.DROP, mutant);
        return Training.largestDifference(perRank.getFirst(), Training.serial(ranks, Rule.SGD_MOMENTUM));
    }

    private static List<List<float[]>> run(
            int ranks,
            boolean deterministic,
            DdpOptions options,
            Rule rule,
            Clearing clearing,
            DistributedDataParallel.ReducerFactory reducers) {
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(ranks);
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(deterministic), world -> {
            ProcessGroup group = world.group();
            results.set(group.groupRank(), Training.parallel(world, options, rule, clearing, reducers));
        });
        return Training.collect(results);
    }
}
