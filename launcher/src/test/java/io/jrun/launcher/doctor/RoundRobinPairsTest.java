package io.jrun.launcher.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.doctor.RoundRobinPairs.Pair;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RoundRobinPairsTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 7, 16, 33})
    void everyPairMeetsOnceAndNoNodeMeetsTwoAtATime(int count) {
        Set<Pair> met = new HashSet<>();
        for (List<Pair> round : RoundRobinPairs.rounds(count)) {
            Set<Integer> busy = new HashSet<>();
            for (Pair pair : round) {
                assertThat(busy.add(pair.first()) && busy.add(pair.second())).isTrue();
                assertThat(pair.first()).isLessThan(pair.second());
                assertThat(met.add(pair)).isTrue();
            }
        }
        assertThat(met).hasSize(count * (count - 1) / 2);
    }
}
