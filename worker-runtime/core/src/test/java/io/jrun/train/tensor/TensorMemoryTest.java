package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TensorMemoryTest {
    /** Without pieces no kernel runs: libtorch's operator refuses empty lists. */
    @Test
    void aDeviceCopiesNoPieces() {
        Libtorch.load();
        assertThatCode(() -> TensorMemory.copyAll(List.of(), List.of(), torch.ScalarType.Float, Device.cuda(0)))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closeEndsAnOwnReferenceBeforeTheScopeEnds(boolean isLibtorchScope) {
        Libtorch.load();
        try (PointerScope _ = isLibtorchScope ? new LibtorchScope() : new PointerScope()) {
            Tensor tensor = torch.ones(1);
            long references = tensor.use_count();
            Tensor own = TensorMemory.own(tensor);
            assertThat(tensor.use_count()).isEqualTo(references + 1);
            own.close();
            assertThat(tensor.use_count()).isEqualTo(references);
        }
    }

    @Test
    void anOwnReferenceLivesOnAfterTheScope() {
        Libtorch.load();
        Tensor own;
        try (PointerScope _ = new PointerScope()) {
            own = TensorMemory.own(torch.ones(1));
        }
        assertThat(own.item_float()).isEqualTo(1);
        own.close();
    }
}
