package io.jrun.launcher.flight;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Finds the last rank from the waits of each rank. */
class LastArrivalTest {
    private final List<List<OperationRecord>> ranks =
            List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());

    private void waited(int rank, long sequence, int lateRank, long nanos) {
        ranks.get(rank)
                .add(new OperationRecord(
                        "world",
                        sequence,
                        "barrier",
                        "i64",
                        0,
                        "barrier #" + sequence,
                        -1,
                        0,
                        OperationState.COMPLETED,
                        0,
                        0,
                        OperationRecord.NEVER,
                        lateRank,
                        nanos));
    }

    private List<LastArrival> arrivals() {
        List<RankRecord> dumps = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            dumps.add(new RankRecord(
                    rank, 4, "host", 1, 1, 1, "why", List.of(), ranks.get(rank), true, Optional.empty(), ""));
        }
        return LastArrival.of(dumps);
    }

    @Test
    void theLastOneIsTheOneThatTheOthersName() {
        waited(0, 7, 2, 50);
        waited(1, 7, 2, 30);
        waited(3, 7, 2, 40);
        assertThat(arrivals()).singleElement().satisfies(arrival -> {
            assertThat(arrival.rank()).isEqualTo(2);
            assertThat(arrival.lagNanos()).isEqualTo(50);
            assertThat(arrival.waited()).containsOnlyKeys(0, 1, 3);
        });
    }

    /**
     * In a ring, 0 waits for 1, which waits for 2, which waits for 3; that one waits a moment for what 0 then sends.
     */
    @Test
    void aNeighbourThatWaitedAsLongIsNotTheLateOne() {
        waited(0, 1, 1, 1000);
        waited(1, 1, 2, 990);
        waited(2, 1, 3, 980);
        waited(3, 1, 0, 10);
        assertThat(arrivals())
                .extracting(LastArrival::rank, LastArrival::lagNanos)
                .containsExactly(tuple(3, 990L));
    }

    @Test
    void aNeighbourThatWaitedForAMomentIs() {
        waited(0, 1, 1, 1000);
        waited(1, 1, 2, 10);
        assertThat(arrivals()).extracting(LastArrival::rank).containsExactly(1);
    }

    @Test
    void ranksThatNameEachOtherEndTheSearch() {
        waited(0, 1, 1, 1000);
        waited(1, 1, 0, 900);
        assertThat(arrivals()).hasSize(1);
    }

    @Test
    void theRankThatCostMostComesFirst() {
        waited(0, 1, 1, 10);
        waited(0, 2, 1, 30);
        waited(0, 3, 1, 20);
        waited(0, 4, 2, 100);
        assertThat(arrivals()).extracting(LastArrival::sequence).containsExactly(4L, 2L, 3L, 1L);
        assertThat(LastArrival.byRank(arrivals()))
                .containsExactly(new LastArrival.Late(2, 1, 100, 100, 100), new LastArrival.Late(1, 3, 60, 20, 30));
    }
}
