package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClosedLanesTest {
    @Test
    void aJobThatOpensGroupsForEverKeepsTheLastOnesOnly() {
        ClosedLanes closed = new ClosedLanes();
        for (long lane = 0; lane <= ClosedLanes.MAX; lane++) {
            closed.add(lane);
            assertThat(closed.contains(lane)).isTrue();
        }
        assertThat(closed.contains(0)).isFalse();
        assertThat(closed.contains(1)).isTrue();
    }
}
