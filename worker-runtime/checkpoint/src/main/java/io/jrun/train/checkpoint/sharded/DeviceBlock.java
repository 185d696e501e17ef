package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Device;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One block of a part in the memory of a device. Not thread-safe. */
final class DeviceBlock implements AutoCloseable {
    private static final long NONE = -1;

    private final Device device;
    private final Tensor memory;
    private long reading = NONE;
    private long block = NONE;

    DeviceBlock(Device device) {
        this.device = device;
        this.memory = TensorMemory.own(TensorMemory.empty(device, torch.ScalarType.Byte, SavedPart.BLOCK_BYTES));
    }

    Device device() {
        return device;
    }

    /** Whether the memory has this block, verified. */
    boolean holds(long number) {
        return block == number;
    }

    /** Reads a block. The caller verifies the block, and says so with {@link #verified}. */
    void read(ObjectReader reader, long number, long bytes) throws IOException {
        block = NONE;
        reading = number;
        reader.read(number * SavedPart.BLOCK_BYTES, bytes(0, bytes), device);
    }

    /** Copies the first bytes to the first bytes of a tensor of the host, and waits for the copy. */
    void copyToHost(Tensor onHost, long bytes) {
        try (NoGradGuard _ = new NoGradGuard();
                Tensor from = memory.narrow(0, 0, bytes);
                Tensor to = onHost.narrow(0, 0, bytes)) {
            to.copy_(from);
        }
    }

    void verified() {
        block = reading;
    }

    /** Bytes of the block, at an address of the device. */
    MemorySegment bytes(long from, long count) {
        return TensorMemory.elements(memory).asSlice(from, count);
    }

    @Override
    public void close() {
        memory.close();
    }
}
