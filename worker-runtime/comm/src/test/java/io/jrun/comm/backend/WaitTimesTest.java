package io.jrun.comm.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.jrun.comm.RankLag;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class WaitTimesTest {
    private final WaitTimes waits = new WaitTimes();

    private void collective(OpKind kind, int lateRank, long nanos) {
        waits.add(lateRank, nanos);
        long _ = waits.settle(kind);
    }

    @Test
    void quantilesAreExactToAQuarter() {
        for (int micros = 1; micros <= 1000; micros++) {
            collective(OpKind.ALL_REDUCE, 3, micros * 1000L);
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
        collective(OpKind.BARRIER, 1, 10);
        collective(OpKind.BARRIER, 2, 0);
        collective(OpKind.BARRIER, 0, 5);
        collective(OpKind.BARRIER, 7, Long.MAX_VALUE / 4);
        assertThat(waits.lags()).extracting(RankLag::rank).containsExactly(7, 1, 0, 2);
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(Long.MAX_VALUE / 4 + 15));
    }

    @Test
    void theLongestWaitInACollectiveCounts() {
        waits.add(1, 10);
        waits.add(2, 30);
        waits.add(3, 20);
        long settled = waits.settle(OpKind.ALL_REDUCE);
        assertThat(WaitTimes.lateRank(settled)).isEqualTo(2);
        assertThat(WaitTimes.lateNanos(settled)).isEqualTo(30);
        collective(OpKind.ALL_REDUCE, 3, 5);
        assertThat(waits.lags()).extracting(RankLag::rank, RankLag::count).containsExactly(tuple(2, 1L), tuple(3, 1L));
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(35));
    }

    /** A heartbeat may read the statistics while a collective is in its second part. */
    @Test
    void readersSeeTheWaitsOfEndedCollectives() {
        waits.add(1, 10);
        assertThat(waits.total()).isZero();
        waits.add(1, 30);
        assertThat(waits.lags()).isEmpty();
        assertThat(WaitTimes.lateNanos(waits.settle(OpKind.BARRIER))).isEqualTo(30);
        assertThat(waits.total()).isEqualTo(Duration.ofNanos(30));
        assertThat(waits.settle(OpKind.BARRIER)).isEqualTo(WaitTimes.NO_WAIT);
        assertThat(WaitTimes.lateRank(WaitTimes.NO_WAIT)).isEqualTo(-1);
    }

    @Test
    void eachKindOfOperationHasItsOwn() {
        collective(OpKind.BARRIER, 1, 10);
        collective(OpKind.ALL_REDUCE, 1, 30);
        collective(OpKind.ALL_REDUCE, 2, 20);
        assertThat(waits.lagsByOperation()).containsOnlyKeys("allReduce", "barrier");
        assertThat(waits.lagsByOperation().get("allReduce"))
                .extracting(RankLag::rank, RankLag::total)
                .containsExactly(tuple(1, Duration.ofNanos(30)), tuple(2, Duration.ofNanos(20)));
        assertThat(waits.lags())
                .extracting(RankLag::rank, RankLag::count, RankLag::max)
                .containsExactly(tuple(1, 2L, Duration.ofNanos(30)), tuple(2, 1L, Duration.ofNanos(20)));
    }
}
