package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.jrun.comm.RankLag;
import io.jrun.comm.record.GroupRecord;
import io.jrun.launcher.event.Straggler;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class StragglerFinderTest {
    private static Map<Integer, List<GroupRecord>> waits(double... seconds) {
        Map<Integer, List<GroupRecord>> waits = new TreeMap<>();
        for (int rank = 0; rank < seconds.length; rank++) {
            RankLag lag = new RankLag(1, 90 + rank, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ofMillis(7));
            long waited = (long) (seconds[rank] * 1e9);
            waits.put(rank, List.of(new GroupRecord("world", List.of(), 100, 100, waited, List.of(lag))));
        }
        return waits;
    }

    @Test
    void aRankThatDoesNotWaitWhileTheOthersWaitIsNamed() {
        assertThat(StragglerFinder.find(waits(10, 0.1, 10.2, 9.9), 40, 0))
                .singleElement()
                .satisfies(straggler -> {
                    assertThat(straggler.rank()).isEqualTo(1);
                    assertThat(straggler.seconds()).isBetween(9.89, 9.91);
                    assertThat(straggler.share()).isBetween(0.24, 0.25);
                    assertThat(straggler.score())
                            .isBetween(9.8, 10.0); // the others deviate by less than a tenth of their wait
                    assertThat(straggler.words())
                            .isEqualTo(
                                    "rank 1 was late: others of group world waited 9.9 s (25 % of the job); last in 93 of 100"
                                            + " collectives, by 0.0 ms (median), 0.0 (95 %), 7.0 (most)");
                });
    }

    @Test
    void anOldReportOfTheLateRankDoesNotReduceTheNumberOfCollectives() {
        Map<Integer, List<GroupRecord>> waits = waits(10, 0, 10);
        waits.put(1, List.of(new GroupRecord("world", List.of(), 97, 97, 0, List.of())));

        assertThat(StragglerFinder.find(waits, 40, 0))
                .singleElement()
                .extracting(Straggler::collectives)
                .isEqualTo(100L);
    }

    @Test
    void theWaitingRankOfTwoIsNotLate() {
        assertThat(StragglerFinder.find(waits(10, 0), 40, 0))
                .extracting(Straggler::rank)
                .containsExactly(1);
    }

    @Test
    void twoLateOnesAmongManyAreBothNamed() {
        assertThat(StragglerFinder.find(waits(10, 0, 10, 11, 1, 9, 10), 40, 0))
                .extracting(Straggler::rank)
                .containsExactly(1, 4);
    }

    /** Ranks 0 and 2 wait for rank 1 for ten seconds in all, and for nine of them in one collective. */
    @Test
    void aRankThatWasLateOnceIsNoStraggler() {
        RankLag lag = new RankLag(
                1, 2, Duration.ofSeconds(10), Duration.ofSeconds(1), Duration.ofSeconds(9), Duration.ofSeconds(9));
        GroupRecord waited = new GroupRecord("world", List.of(), 100, 100, 10_000_000_000L, List.of(lag));
        GroupRecord none = new GroupRecord("world", List.of(), 100, 100, 0, List.of());
        Map<Integer, List<GroupRecord>> waits = Map.of(0, List.of(waited), 1, List.of(none), 2, List.of(waited));
        assertThat(StragglerFinder.find(waits, 40, 0)).isEmpty();
        assertThat(StragglerFinder.find(waits, 20, 0)).isEmpty();
    }

    /** Ranks 0 and 2 wait for rank 1 in four of the first collectives of a job of five steps, and hardly later. */
    @Test
    void aRankThatWasLateInAFewStepsIsNoStraggler() {
        assertThat(StragglerFinder.find(waitsOf(4, 500), 11, 0)).isEmpty();
        assertThat(StragglerFinder.find(waitsOf(40, 500), 110, 0))
                .extracting(Straggler::rank, Straggler::group)
                .containsExactly(tuple(1, "of ranks 0-2"));
    }

    private static Map<Integer, List<GroupRecord>> waitsOf(int times, long millis) {
        Duration each = Duration.ofMillis(millis);
        RankLag lag = new RankLag(1, 50, each.multipliedBy(times), Duration.ofMillis(1), each, each);
        GroupRecord waited = new GroupRecord(
                "world.g0-2n1", List.of(), 100, 100, each.multipliedBy(times).toNanos(), List.of(lag));
        GroupRecord none = new GroupRecord("world.g0-2n1", List.of(), 100, 100, 0, List.of());
        return Map.of(0, List.of(waited), 1, List.of(none), 2, List.of(waited));
    }

    @Test
    void ranksThatWaitForEachOtherByTurnsAreNoStragglers() {
        assertThat(StragglerFinder.find(waits(10, 8, 12, 9, 11), 40, 0)).isEmpty();
    }

    @Test
    void smallCostsAreNotReported() {
        assertThat(StragglerFinder.find(waits(10, 0, 10), 400, 0)).isEmpty();
        assertThat(StragglerFinder.find(waits(0.9, 0, 0.9), 1, 0)).isEmpty();
        assertThat(StragglerFinder.find(waits(100), 1, 0)).isEmpty();
        assertThat(StragglerFinder.find(Map.of(), 1, 0)).isEmpty();
    }

    @Test
    void differencesBetweenTimesOfReportsAreNoLateness() {
        assertThat(StragglerFinder.find(waits(10, 8, 10), 40, 0)).isEmpty();
        assertThat(StragglerFinder.find(waits(10, 5.9, 10), 40, 2))
                .extracting(Straggler::rank)
                .containsExactly(1);
        assertThat(StragglerFinder.find(waits(10, 6, 10), 40, 3)).isEmpty();
        assertThat(StragglerFinder.find(waits(4, 0, 4), 10, 3.5)).isEmpty();
    }

    /**
     * The reference computation: the median of the other ranks and their deviation, computed separately for each rank.
     */
    @Test
    void latenessIsThatOfTheDefinition() {
        Random random = new Random(1);
        for (int count = 2; count < 60; count++) {
            double[] waits = random.doubles(count, 0, 12).map(Math::rint).toArray();
            WaitComparison waitComparison = new WaitComparison(waits);
            for (int rank = 0; rank < count; rank++) {
                double own = waits[rank];
                double median = median(without(rank, waits));
                double mad = median(Arrays.stream(without(rank, waits))
                        .map(wait -> Math.abs(wait - median))
                        .toArray());
                boolean late = median - own > 3.5 * Math.max(1.4826 * mad, 0.1 * median);
                assertThat(waitComparison.of(own))
                        .as("rank %d of %s", rank, Arrays.toString(waits))
                        .isEqualTo(late ? median - own : 0);
            }
        }
    }

    private static double[] without(int index, double... all) {
        return IntStream.range(0, all.length)
                .filter(i -> i != index)
                .mapToDouble(i -> all[i])
                .toArray();
    }

    private static double median(double... values) {
        double[] sorted = Arrays.stream(values).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** A sort of all other ranks for each rank would take an hour. */
    @Test
    @Timeout(60)
    void manyRanksAreTakenTogether() {
        double[] seconds = new Random(2).doubles(100_000, 9, 11).toArray();
        seconds[70_000] = 0.5;
        assertThat(StragglerFinder.find(waits(seconds), 40, 0))
                .extracting(Straggler::rank)
                .containsExactly(70_000);
    }
}
