package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClosedChannelsTest {
    @Test
    void aJobThatOpensGroupsForEverKeepsTheLastOnesOnly() {
        ClosedChannels closed = new ClosedChannels();
        for (long lane = 0; lane <= ClosedChannels.MAX; lane++) {
            closed.add(lane);
            assertThat(closed.contains(lane)).isTrue();
        }
        assertThat(closed.contains(0)).isFalse();
        assertThat(closed.contains(1)).isTrue();
    }
}
