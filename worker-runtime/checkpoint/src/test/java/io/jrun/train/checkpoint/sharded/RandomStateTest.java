package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RandomStateTest {
    @Test
    void theNumbersAreThoseOfTheJdkAndContinueBehindASavedState() {
        SplittableRandom jdk = new SplittableRandom(42);
        SplitMix64Random own = new SplitMix64Random(42);
        for (int i = 0; i < 100; i++) {
            assertThat(own.nextLong()).isEqualTo(jdk.nextLong());
        }
        SplitMix64Random continued = new SplitMix64Random(0);
        continued.restore(own.state());
        assertThat(continued.nextDouble()).isEqualTo(own.nextDouble());
    }
}
