package io.jrun.comm.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class WaitTimesTest {
    private final WaitTimes waits = new WaitTimes();

    @Test
    void quantilesAreExactToAQuarter() {
        for (int micros = 1; micros <= 1000; micros++) {
            waits.add(micros, 3, micros * 1000L);
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
        waits.add(0, 1, 10);
        waits.add(1, 2, 0);
        waits.add(2, 0, 5);
        waits.add(3, 7, Long.MAX_VALUE / 4);
        assertThat(waits.lags()).extracting(WaitTimes.Lag::rank).containsExactly(7, 1, 0, 2);
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(Long.MAX_VALUE / 4 + 15));
    }

    @Test
    void ofTheWaitsInOneCollectiveTheLongestCounts() {
        waits.add(0, 1, 10);
        waits.add(0, 2, 30);
        waits.add(0, 3, 20);
        waits.add(1, 3, 5);
        assertThat(waits.lags())
                .extracting(WaitTimes.Lag::rank, WaitTimes.Lag::count)
                .containsExactly(tuple(2, 1L), tuple(3, 1L));
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(35));
    }
}
