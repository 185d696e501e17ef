package io.jrun.train.fsdp;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Host memory of whole units and of the gradients that travel, which one unit uses after another. The memory is the
 * group's registered memory: over shared memory a rank reads the memory of the other ranks without further copies.
 * Memory that is used again has no page faults. Lives until the group is closed. Confined to the training thread. All
 * ranks take and give in the same order, because new registered memory is a collective.
 */
final class TransferMemory implements UnitMemory {
    private final ProcessGroup group;
    private final List<Tensor> free = new ArrayList<>();

    TransferMemory(ProcessGroup group) {
        this.group = group;
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public Tensor take(long bytes) {
        Tensor smallest = free.stream()
                .filter(memory -> memory.numel() >= bytes)
                .min(Comparator.comparingLong(Tensor::numel))
                .orElse(null);
        if (smallest != null) {
            free.remove(smallest);
            return smallest;
        }
        try (PointerScope _ = new PointerScope()) {
            return TensorMemory.own(TensorMemory.tensor(group.allocate(bytes), torch.ScalarType.Byte, bytes));
        }
    }

    @Override
    public void give(Tensor memory) {
        free.add(memory);
    }
}
