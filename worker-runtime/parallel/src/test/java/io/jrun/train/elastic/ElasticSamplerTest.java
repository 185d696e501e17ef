package io.jrun.train.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ElasticSamplerTest {
    private static final int SAMPLES = 50;
    private static final int BATCH = 8;

    @Test
    void everyBatchIsTheSameWhateverTheNumberOfRanks() {
        List<List<Long>> alone = batches(1, 20);
        for (int ranks = 2; ranks <= BATCH; ranks++) {
            assertThat(batches(ranks, 20)).as("%d ranks", ranks).isEqualTo(alone);
        }
    }

    @Test
    void anEpochTakesNoSampleTwice() {
        List<Long> epoch =
                batches(3, SAMPLES / BATCH).stream().flatMap(List::stream).toList();
        assertThat(epoch)
                .doesNotHaveDuplicates()
                .hasSize(SAMPLES / BATCH * BATCH)
                .allMatch(each -> each < SAMPLES);
        assertThat(batches(3, 12).subList(6, 12)).isNotEqualTo(batches(3, 6));
    }

    @Test
    void goesOnAtAnyPlaceWithAnyNumberOfRanks() {
        List<List<Long>> all = batches(4, 20);
        for (int place = 0; place < 20; place++) {
            ElasticSampler sampler = new ElasticSampler(SAMPLES, BATCH, 7);
            sampler.goTo(place);
            List<Long> batch = new ArrayList<>();
            for (int rank = 0; rank < 3; rank++) {
                sampler.goTo(place);
                Arrays.stream(sampler.next(rank, 3).samples()).forEach(batch::add);
            }
            assertThat(batch).isEqualTo(all.get(place));
        }
    }

    @Test
    void weightsMakeTheMeanOverRanksTheMeanOverTheBatch() {
        for (int ranks = 1; ranks <= BATCH; ranks++) {
            double sum = 0;
            for (int rank = 0; rank < ranks; rank++) {
                ElasticSampler.Share share = new ElasticSampler(SAMPLES, BATCH, 7).next(rank, ranks);
                assertThat(share.weight()).isCloseTo(share.samples().length * (double) ranks / BATCH, within(1e-15));
                sum += share.weight() / ranks;
            }
            assertThat(sum).isCloseTo(1, within(1e-15));
        }
        assertThat(new ElasticSampler(SAMPLES, BATCH, 7).next(1, 4).weight()).isEqualTo(1.0);
    }

    @Test
    void indivisibleNumbersAreRefused() {
        assertThatThrownBy(() -> new ElasticSampler(7, 8, 0))
                .hasMessageContaining("7 samples are fewer than one batch of 8");
        assertThatThrownBy(() -> new ElasticSampler(SAMPLES, BATCH, 0).next(0, 9))
                .hasMessageContaining("a batch of 8 samples cannot be divided among 9 ranks");
    }

    private static List<List<Long>> batches(int ranks, int count) {
        List<ElasticSampler> samplers = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            samplers.add(new ElasticSampler(SAMPLES, BATCH, 7));
        }
        List<List<Long>> batches = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            List<Long> batch = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                Arrays.stream(samplers.get(rank).next(rank, ranks).samples()).forEach(batch::add);
            }
            batches.add(batch);
        }
        return batches;
    }
}
