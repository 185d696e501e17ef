package io.jrun.train.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class DistributedSamplerTest {
    private static final SamplerOptions IN_ORDER = SamplerOptions.TRAINING.withShuffle(false);

    /** torch 2.13, DistributedSampler(range(10), num_replicas=3, shuffle=False, drop_last=False/True). */
    @Test
    void equalsTorchWithoutShuffling() {
        assertThat(shares(10, 3, IN_ORDER))
                .isEqualTo(List.of(List.of(0L, 3L, 6L, 9L), List.of(1L, 4L, 7L, 0L), List.of(2L, 5L, 8L, 1L)));
        assertThat(shares(10, 3, IN_ORDER.withRemainder(Remainder.DROP)))
                .isEqualTo(List.of(List.of(0L, 3L, 6L), List.of(1L, 4L, 7L), List.of(2L, 5L, 8L)));
    }

    /** torch.randperm(10, generator=torch.Generator().manual_seed(0)) is [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]. */
    @Test
    void shufflesAsTorchDoes() {
        assertThat(shares(10, 2, SamplerOptions.TRAINING))
                .isEqualTo(List.of(List.of(4L, 7L, 3L, 0L, 6L), List.of(1L, 5L, 9L, 8L, 2L)));
    }

    @Test
    void anEpochIsShuffledWithSeedPlusEpoch() {
        DistributedSampler fromSeed = DistributedSampler.of(100, 1, 0, SamplerOptions.TRAINING.withSeed(7));
        DistributedSampler fromEpoch = DistributedSampler.of(100, 1, 0, SamplerOptions.TRAINING.withSeed(3));
        assertThat(fromEpoch.indices().toArray())
                .isNotEqualTo(fromSeed.indices().toArray());
        fromEpoch.setEpoch(4);
        assertThat(fromEpoch.indices().toArray()).isEqualTo(fromSeed.indices().toArray());
    }

    @Test
    void nextEpochShufflesAnewAndGoesOnFromTheEpochThatWasSet() {
        DistributedSampler going = DistributedSampler.of(50, 2, 1, SamplerOptions.TRAINING);
        DistributedSampler set = DistributedSampler.of(50, 2, 1, SamplerOptions.TRAINING);
        going.setEpoch(3);
        for (int epoch = 3; epoch < 6; epoch++) {
            set.setEpoch(epoch);
            assertThat(going.nextEpoch())
                    .containsExactlyElementsOf(set.indices().boxed().toList());
        }
    }

    @Test
    void evaluationGivesEverySampleExactlyOnce() {
        for (int ranks = 1; ranks <= 5; ranks++) {
            for (long samples = 0; samples <= 23; samples++) {
                List<Long> all = new ArrayList<>();
                shares(samples, ranks, SamplerOptions.EVALUATION).forEach(all::addAll);
                assertThat(all)
                        .as("%d samples on %d ranks", samples, ranks)
                        .containsExactlyInAnyOrderElementsOf(
                                LongStream.range(0, samples).boxed().toList());
            }
        }
    }

    @Test
    void fewerSamplesThanRanksAreRepeated() {
        assertThat(shares(2, 5, IN_ORDER))
                .isEqualTo(List.of(List.of(0L), List.of(1L), List.of(0L), List.of(1L), List.of(0L)));
        assertThat(shares(0, 2, IN_ORDER)).allSatisfy(share -> assertThat(share).isEmpty());
    }

    /** An epoch without a sample would end without a word. */
    @Test
    void fewerSamplesThanRanksCannotDropTheRemainder() {
        assertThatThrownBy(() -> shares(2, 5, IN_ORDER.withRemainder(Remainder.DROP)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 samples, too few for 5 ranks");
        assertThat(shares(5, 5, IN_ORDER.withRemainder(Remainder.DROP)))
                .allSatisfy(share -> assertThat(share).hasSize(1));
    }

    @ParameterizedTest
    @EnumSource(Remainder.class)
    void sizeIsTheNumberOfIndices(Remainder remainder) {
        for (int ranks = 1; ranks <= 4; ranks++) {
            for (int rank = 0; rank < ranks; rank++) {
                for (long samples = remainder == Remainder.DROP ? ranks : 0; samples <= 13; samples++) {
                    DistributedSampler sampler =
                            DistributedSampler.of(samples, ranks, rank, IN_ORDER.withRemainder(remainder));
                    assertThat(sampler.indices().count()).isEqualTo(sampler.size());
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"-1,1,0", "1,0,0", "1,2,2", "1,2,-1"})
    void rejectsWhatDoesNotExist(long samples, int ranks, int rank) {
        assertThatThrownBy(() -> DistributedSampler.of(samples, ranks, rank, IN_ORDER))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static List<List<Long>> shares(long samples, int ranks, SamplerOptions options) {
        List<List<Long>> shares = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            shares.add(DistributedSampler.of(samples, ranks, rank, options)
                    .indices()
                    .boxed()
                    .toList());
        }
        return shares;
    }
}
