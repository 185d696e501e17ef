package io.jrun.comm.backend;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class WaitTimesTest {
    private final WaitTimes waits = new WaitTimes();

    @Test
    void quantilesAreExactToAQuarter() {
        for (int micros = 1; micros <= 1000; micros++) {
            waits.add(3, micros * 1000L);
        }
        assertThat(waits.lags()).singleElement().satisfies(lag -> {
            assertThat(lag.rank()).isEqualTo(3);
            assertThat(lag.count()).isEqualTo(1000);
            assertThat(lag.total()).isEqualTo(Duration.ofNanos(500_500_000));
            assertThat(lag.median()).isEqualTo(Duration.ofNanos(1 << 19)); // Where the bucket of 500 us ends.
            assertThat(lag.p95()).isBetween(Duration.ofNanos(950_000), Duration.ofMillis(1));
            assertThat(lag.max()).isEqualTo(Duration.ofMillis(1));
        });
    }

    @Test
    void theRankThatCostsMostComesFirst() {
        waits.add(1, 10);
        waits.add(2, 0);
        waits.add(0, 5);
        waits.add(7, Long.MAX_VALUE / 4);
        assertThat(waits.lags()).extracting(WaitTimes.Lag::rank).containsExactly(7, 1, 0, 2);
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(Long.MAX_VALUE / 4 + 15));
    }
}
