package io.jrun.train.fsdp;

import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Buffers that are freed when they are closed, also within a step. */
final class TransientTensor {
    private TransientTensor() {}

    /**
     * A flat tensor of any values. No scope of the program holds it: a scope would keep the memory until the end of the
     * step.
     */
    static Tensor of(torch.ScalarType type, long elements) {
        try (PointerScope _ = new PointerScope()) {
            return TensorMemory.own(
                    torch.empty(new long[] {elements}, new TensorOptions(type), new MemoryFormatOptional()));
        }
    }
}
