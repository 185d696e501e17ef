package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThatCode;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import java.util.List;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

class TensorMemoryTest {
    /** Without pieces no kernel runs: libtorch's operator refuses empty lists. */
    @Test
    void aDeviceCopiesNoPieces() {
        Libtorch.load();
        assertThatCode(() -> TensorMemory.copyAll(List.of(), List.of(), torch.ScalarType.Float, Device.cuda(0)))
                .doesNotThrowAnyException();
    }
}
