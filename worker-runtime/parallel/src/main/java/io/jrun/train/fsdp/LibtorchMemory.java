package io.jrun.train.fsdp;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Memory of libtorch's allocator, which on a GPU keeps freed memory for the next unit. */
record LibtorchMemory(Device device) implements UnitMemory {
    @Override
    public Tensor take(long bytes) {
        // A scope of its own: a reference that the program's scope holds would keep the memory after give().
        try (PointerScope _ = new PointerScope()) {
            return TensorMemory.own(TensorMemory.empty(device, torch.ScalarType.Byte, bytes));
        }
    }

    @Override
    public void give(Tensor memory) {
        memory.close();
    }
}
