package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.nio.file.Path;
import org.bytedeco.pytorch.LinearImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the package's page. */
class CheckpointExampleTest {
    @TempDir
    Path folder;

    @Test
    void theSecondCallGoesOnFromTheFirst() {
        try (World world = Distributed.init()) {
            LinearImpl first = new LinearImpl(4, 4);
            LinearImpl second = new LinearImpl(4, 4);
            assertThat(first.weight().equal(second.weight())).isFalse();
            assertThat(CheckpointExample.next(world, folder.toString(), first)).isEqualTo(1);
            assertThat(CheckpointExample.next(world, folder.toString(), second)).isEqualTo(2);
            assertThat(first.weight().equal(second.weight())).isTrue();
        }
    }
}
