package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

class DeviceWaitsTest {
    /** The parts of FSDP are empty on ranks without rows. */
    @Test
    void theLastCopyOfADeviceIsOneWithElements() {
        Libtorch.setThreads(1);
        try (PointerScope _ = new PointerScope()) {
            assertThat(DeviceWaits.lastCopies(List.of(torch.ones(3), torch.ones(2, 2), torch.ones(0, 5))))
                    .containsOnly(Map.entry(Device.CPU, 1));
            assertThat(DeviceWaits.lastCopies(List.of(torch.ones(0)))).isEmpty();
        }
    }
}
