package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.context.ContextParallel.Exchange;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The checks of shared layers, on the CPU. On GPUs scripts/gpu-check runs them. */
class SharedLayersTest {
    enum Check {
        TENSOR,
        ULYSSES,
        RING,
        RING_IN_BFLOAT16,
        FULLY_SHARDED,
        STATES_IN_FILES,
        ZERO,
        PIPELINE,
        EXPERTS;

        String run(ProcessGroup group) throws IOException {
            return switch (this) {
                case TENSOR -> SharedLayers.tensorParallel(group, Device.CPU);
                case ULYSSES -> SharedLayers.contextParallel(group, Device.CPU, Exchange.ULYSSES);
                case RING -> SharedLayers.contextParallel(group, Device.CPU, Exchange.RING);
                case RING_IN_BFLOAT16 -> SharedLayers.ringInBfloat16(group, Device.CPU);
                case FULLY_SHARDED -> SharedLayers.fullySharded(group, Device.CPU);
                case STATES_IN_FILES -> SharedLayers.statesInFiles(group, Device.CPU);
                case ZERO -> SharedLayers.sharedStates(group, Device.CPU);
                case PIPELINE -> SharedLayers.pipeline(group, Device.CPU);
                case EXPERTS -> SharedLayers.expertParallel(group, Device.CPU);
            };
        }
    }

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @EnumSource
    void stepsEqualTheStepsOfOneRank(Check check) {
        LocalWorld.run(2, world -> assertThat(check.run(world.group())).contains("parameters within"));
    }
}
