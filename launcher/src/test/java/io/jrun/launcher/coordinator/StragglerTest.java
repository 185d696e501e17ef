package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.GroupWait;
import io.jrun.agent.proto.Lag;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class StragglerTest {
    private static Map<Integer, List<GroupWait>> waits(double... seconds) {
        Map<Integer, List<GroupWait>> waits = new TreeMap<>();
        for (int rank = 0; rank < seconds.length; rank++) {
            waits.put(
                    rank,
                    List.of(GroupWait.newBuilder()
                            .setGroup("world")
                            .setCollectives(100)
                            .setWaitedNanos((long) (seconds[rank] * 1e9))
                            .addLags(Lag.newBuilder()
                                    .setRank(1)
                                    .setCount(90 + rank)
                                    .setMaxNanos(7_000_000))
                            .build()));
        }
        return waits;
    }

    @Test
    void whoDoesNotWaitWhileTheOthersDoIsNamed() {
        assertThat(Straggler.of(waits(10, 0.1, 10.2, 9.9), 40)).singleElement().satisfies(straggler -> {
            assertThat(straggler.rank()).isEqualTo(1);
            assertThat(straggler.seconds()).isEqualTo(9.9);
            assertThat(straggler.share()).isBetween(0.24, 0.25);
            assertThat(straggler.words())
                    .isEqualTo(
                            "rank 1 was late: the others of group world waited 9.9 s for it (25 % of the job); it came last"
                                    + " in 93 of 100 collectives, by 0.0 ms in the middle, 0.0 ms at the 95th percentile, 7.0 ms"
                                    + " at most");
        });
    }

    @Test
    void ofTwoRanksTheOneThatWaitsIsNotLate() {
        assertThat(Straggler.of(waits(10, 0), 40)).extracting(Straggler::rank).containsExactly(1);
    }

    @Test
    void twoLateOnesAmongManyAreBothNamed() {
        assertThat(Straggler.of(waits(10, 0, 10, 11, 1, 9, 10), 40))
                .extracting(Straggler::rank)
                .containsExactly(1, 4);
    }

    @Test
    void ranksThatWaitForEachOtherByTurnsAreNoStragglers() {
        assertThat(Straggler.of(waits(10, 8, 12, 9, 11), 40)).isEmpty();
    }

    @Test
    void whatCostsLittleIsNotToldOf() {
        assertThat(Straggler.of(waits(10, 0, 10), 400)).isEmpty();
        assertThat(Straggler.of(waits(0.9, 0, 0.9), 1)).isEmpty();
        assertThat(Straggler.of(waits(100), 1)).isEmpty();
        assertThat(Straggler.of(Map.of(), 1)).isEmpty();
    }
}
