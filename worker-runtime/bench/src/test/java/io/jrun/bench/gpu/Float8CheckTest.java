package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import org.junit.jupiter.api.Test;

/** The check of 8-bit products with the CPU as the device. On GPUs scripts/gpu-check runs the check. */
class Float8CheckTest {
    @Test
    void theCpuEqualsItself() {
        Libtorch.setThreads(1);
        assertThat(Float8Check.compareWithCpu(Device.CPU))
                .contains("gradients 0.0e+00, 0.0e+00, 0.0e+00 against")
                .endsWith("within 0.0e+00 of the CPU's");
    }
}
