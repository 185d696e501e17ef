package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Memory that is freed and allocated again under its tensors. */
class PaddedMemoryTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** libtorch computes on the device that a view gets from its storage, so free memory needs its device too. */
    @Test
    void aViewOfFreeMemoryIsOnTheDeviceOfTheMemory() {
        Device meta = new Device("meta", 0); // libtorch's only device beside the CPU that needs no hardware
        try (PointerScope _ = new PointerScope()) {
            PaddedMemory memory =
                    new PaddedMemory(List.of(new long[] {3}), torch.ScalarType.Float, new LibtorchMemory(meta));
            assertThat(TensorMemory.device(memory.view(0, 3))).isEqualTo(meta);

            memory.allocate();
            Tensor whole = memory.view(0, 3);
            memory.free();

            assertThat(TensorMemory.device(whole)).isEqualTo(meta);
            assertThat(TensorMemory.device(memory.view(0, 3))).isEqualTo(meta);
        }
    }
}
