package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClosedChannelsTest {
    @Test
    void aJobThatOpensGroupsForEverKeepsTheLastOnesOnly() {
        ClosedChannels closed = new ClosedChannels();
        for (long channel = 0; channel <= ClosedChannels.MAX; channel++) {
            closed.add(channel);
            assertThat(closed.contains(channel)).isTrue();
        }
        assertThat(closed.contains(0)).isFalse();
        assertThat(closed.contains(1)).isTrue();
    }
}
