package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The measurement of a checkpoint, with a small state in host memory. On a GPU scripts/gpu-check runs it. */
class CheckpointTimesTest {
    @Test
    void theStateIsEqualAfterEachLoadAndNoFileIsLeft(@TempDir Path folder) throws IOException {
        Libtorch.load();
        LocalWorld.run(
                1,
                world -> assertThat(CheckpointTimes.measure(world, Device.CPU, 8 << 20, folder))
                        .contains("equal bits after the loads", "stall of saveAsync", "a snapshot for peers"));
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
    }
}
