package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The example of the package's page. */
class WorldExampleTest {
    @Test
    void oneRankAddsItsOwnNumbers() {
        try (World world = Distributed.init()) {
            assertThat(WorldExample.add(world, 3, 1)).containsExactly(3, 1);
        }
    }
}
