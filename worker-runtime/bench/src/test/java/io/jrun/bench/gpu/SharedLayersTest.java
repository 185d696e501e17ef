package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The checks of shared layers, on the CPU. On GPUs scripts/gpu-check runs them. */
class SharedLayersTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void tensorParallelStepsEqualTheStepsOfOneRank() {
        LocalWorld.run(
                2,
                world -> assertThat(SharedLayers.tensorParallel(world.group(), Device.CPU))
                        .contains("parameters within"));
    }

    @Test
    void contextParallelStepsEqualTheStepsOfOneRank() {
        LocalWorld.run(
                2,
                world -> assertThat(SharedLayers.contextParallel(world.group(), Device.CPU))
                        .contains("parameters within"));
    }
}
