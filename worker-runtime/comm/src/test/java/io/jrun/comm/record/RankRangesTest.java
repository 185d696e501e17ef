package io.jrun.comm.record;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RankRangesTest {
    @Test
    void neighboursAreARange() {
        assertThat(RankRanges.of(List.of(3, 0, 1, 2, 7))).isEqualTo("0-3, 7");
        assertThat(RankRanges.of(List.of(5))).isEqualTo("5");
    }

    @Test
    void longListsAreCut() {
        List<Integer> even = IntStream.range(0, 100).mapToObj(i -> 2 * i).toList();
        assertThat(RankRanges.of(even)).isEqualTo("0, 2, 4, 6, 8, 10, 12, 14 and 92 more");
    }

    @Test
    void oneRankHasNoRange() {
        assertThat(RankRanges.withNoun(List.of(4))).isEqualTo("rank 4");
        assertThat(RankRanges.withNoun(List.of(0, 1, 2, 5, 7, 8))).isEqualTo("6 ranks (0-2, 5, 7-8)");
    }

    @Test
    void groupIsNamedByItsRanks() {
        assertThat(GroupRecord.label("world", List.of(0, 1))).isEqualTo("group world");
        assertThat(GroupRecord.label("world.g0.2n1", List.of(0, 2))).isEqualTo("group of ranks 0, 2");
        assertThat(GroupRecord.label("world.g0.2n1", List.of())).isEqualTo("group world.g0.2n1");
    }
}
