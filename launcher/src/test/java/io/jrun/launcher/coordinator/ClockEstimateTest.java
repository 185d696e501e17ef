package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.coordinator.ClockEstimate.Measurement;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ClockEstimateTest {
    private static final long OFFSET = 5_000_000_000L;

    @Test
    void theShortestRoundTripCounts() {
        ClockEstimate estimate = new ClockEstimate();
        for (int ping = 0; ping < 7; ping++) {
            assertThat(estimate.isUrgent()).isTrue();
            assertThat(estimate.take(0, OFFSET + 900_000, 1_000_000)).isEmpty(); // the answer was slow
        }
        assertThat(estimate.take(2_000_000, OFFSET + 2_040_000, 2_100_000))
                .contains(new Measurement(OFFSET - 10_000, 50_000, 2_050_000));
        assertThat(estimate.isUrgent()).isFalse();
    }

    @Test
    void theErrorBoundsTheDifferenceWhateverTheDelays() {
        Random random = new Random(3);
        ClockEstimate estimate = new ClockEstimate();
        int measured = 0;
        for (int ping = 0; ping < 500; ping++) {
            long sent = ping * 1_000_000L;
            long arrived = sent + random.nextLong(1, 300_000);
            long received = arrived + random.nextLong(1, 300_000);
            Optional<Measurement> result = estimate.take(sent, arrived + OFFSET, received);
            if (result.isPresent()) {
                measured++;
                assertThat(Math.abs(result.get().offsetNanos() - OFFSET))
                        .isLessThanOrEqualTo(result.get().errorNanos());
            }
        }
        assertThat(measured).isEqualTo(1 + (500 - 8) / 5);
    }
}
