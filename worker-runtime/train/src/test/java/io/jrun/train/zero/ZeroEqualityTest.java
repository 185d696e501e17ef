package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.DrawnCases;
import io.jrun.train.ShardedTraining;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Parameters after five steps of AdamW: stages 1 and 2 of ZeRO against DistributedDataParallel, bit for bit. */
class ZeroEqualityTest {
    static List<Integer> worlds() {
        return DrawnCases.of(List.of(2, 3, 4), 2);
    }

    @ParameterizedTest
    @MethodSource("worlds")
    void theBitsAreThoseOfDdp(int ranks) {
        Map<String, float[]> expected = ShardedTraining.run(ranks, world -> ShardedTraining.ddp(world, 1))
                .getFirst();
        assertThat(ShardedTraining.run(ranks, ShardedTraining::zeroOne))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
        assertThat(ShardedTraining.run(ranks, ShardedTraining::zeroTwo))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }
}
