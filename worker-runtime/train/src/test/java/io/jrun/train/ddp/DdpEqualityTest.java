package io.jrun.train.ddp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.ddp.Training.Rule;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** DDP against one process that adds up the ranks' gradients; compared are parameters after ten steps. */
class DdpEqualityTest {
    /** Several buckets even in a small model, so that order and rebuilding matter. */
    private static final DdpOptions SMALL_BUCKETS = DdpOptions.DEFAULT.withBuckets(2000, 10_000);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @CsvSource({"2,DROP", "2,ZERO", "4,DROP", "4,ZERO"})
    void deterministicModeEqualsSerialAccumulationBitForBit(int ranks, Training.Clearing clearing) {
        List<float[]> serial = Training.serial(ranks, Rule.ADAMW);
        for (List<float[]> rank : run(ranks, true, SMALL_BUCKETS, Rule.ADAMW, clearing, GradientReducer::new)) {
            assertThat(rank).usingRecursiveComparison().isEqualTo(serial);
        }
    }

    @ParameterizedTest
    @CsvSource({"1", "2", "3", "4"})
    void everyModeEqualsSerialAccumulationToOneMillionth(int ranks) {
        List<float[]> serial = Training.serial(ranks, Rule.SGD_MOMENTUM);
        List<List<float[]>> perRank =
                run(ranks, false, SMALL_BUCKETS, Rule.SGD_MOMENTUM, Training.Clearing.DROP, GradientReducer::new);
        for (List<float[]> rank : perRank) {
            assertThat(Training.largestDifference(rank, serial)).isLessThanOrEqualTo(1e-6f);
            assertThat(rank)
                    .as("all ranks have equal bits")
                    .usingRecursiveComparison()
                    .isEqualTo(perRank.getFirst());
        }
    }

    @Test
    void oneBigBucketAndManySmallOnesGiveEqualBits() {
        List<float[]> serial = Training.serial(2, Rule.ADAMW);
        for (DdpOptions options : List.of(DdpOptions.DEFAULT, DdpOptions.DEFAULT.withBuckets(1, 1))) {
            for (List<float[]> rank : run(2, true, options, Rule.ADAMW, Training.Clearing.DROP, GradientReducer::new)) {
                assertThat(rank).usingRecursiveComparison().isEqualTo(serial);
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
                    world.rank(),
                    Training.parallel(world, options, Rule.ADAMW, Training.Clearing.DROP, GradientReducer::new));
        });
        for (List<float[]> rank : Training.collect(results)) {
            assertThat(rank).usingRecursiveComparison().isEqualTo(serial);
        }
    }

    @Test
    void aMissingAllReduceIsNoticed() {
        assertThat(errorWithHook((_, _) -> () -> {})).isGreaterThan(1e-4f);
    }

    @Test
    void aSumInsteadOfAMeanIsNoticed() {
        assertThat(errorWithHook(
                        (bucket, group) -> BucketReduction.of(group.allReduceAsync(bucket.buffer(), ReduceOp.SUM))))
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
                    void moveIntoBucket(int parameter) {}
                }))
                .isGreaterThan(1e-4f);
    }

    private static float error(int ranks, DistributedDataParallel.ReducerFactory mutant) {
        List<List<float[]>> perRank =
                run(ranks, true, SMALL_BUCKETS, Rule.SGD_MOMENTUM, Training.Clearing.DROP, mutant);
        return Training.largestDifference(perRank.getFirst(), Training.serial(ranks, Rule.SGD_MOMENTUM));
    }

    private static List<List<float[]>> run(
            int ranks,
            boolean deterministic,
            DdpOptions options,
            Rule rule,
            Training.Clearing clearing,
            DistributedDataParallel.ReducerFactory reducers) {
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(ranks);
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(deterministic), world -> {
            ProcessGroup group = world.group();
            results.set(group.groupRank(), Training.parallel(world, options, rule, clearing, reducers));
        });
        return Training.collect(results);
    }
}
