package io.jrun.trainer.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.data.Dataset;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class BigramModelTest {
    private static final Offset<Double> EXACT = Offset.offset(1e-12);

    @Test
    void aTokenIsPredictedFromTheTokenBeforeItByCountingInTheTrainingText() {
        BigramModel model = new BigramModel(windows("ab".repeat(5000) + "a", "ab".repeat(5000)), 256);
        double likely = Math.log((10_000 + 256.0) / (10_000 + 1.0)); // 10,000 pairs "ab", and one for each of 256 pairs
        assertThat(model.loss(windows("ab"))).isCloseTo(likely, EXACT);
        assertThat(model.loss(windows("xy")))
                .as("a token that the training text does not have")
                .isCloseTo(Math.log(256), EXACT);
        assertThat(model.loss(windows("xyz", "ab"))).isCloseTo((2 * Math.log(256) + likely) / 3, EXACT);
    }

    private static Dataset<long[]> windows(String... texts) {
        List<long[]> windows = List.of(texts).stream()
                .map(text -> text.chars().asLongStream().toArray())
                .toList();
        return new Dataset<>() {
            @Override
            public long size() {
                return windows.size();
            }

            @Override
            public long[] get(long index) {
                return windows.get((int) index);
            }
        };
    }
}
