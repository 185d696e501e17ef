package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A row-major tensor in host memory to which the elements of a tensor of a device are copied again and again. For a GPU
 * the memory is pinned, see {@link PinnedMemory}: libtorch's own pinned memory would take the next power of two of
 * bytes. Internal to the packages of checkpoints. Confined to one thread at a time.
 */
public final class HostTensor implements AutoCloseable {
    private final Tensor tensor;
    private final Optional<PinnedMemory> pinned;

    /**
     * Takes memory with undefined elements.
     *
     * @param source the device of the tensors that are copied
     */
    public HostTensor(Device source, torch.ScalarType type, long... sizes) {
        long bytes = torch.elementSize(type);
        for (long size : sizes) {
            bytes *= size;
        }
        pinned = PinnedMemory.take(source, bytes);
        tensor = TensorMemory.own(pinned.map(memory -> TensorMemory.tensor(memory.segment(), type, sizes))
                .orElseGet(() -> TensorMemory.empty(Device.CPU, type, sizes)));
    }

    /** The tensor, which lives until {@link #close}. */
    public Tensor tensor() {
        return tensor;
    }

    @Override
    public void close() {
        tensor.close();
        pinned.ifPresent(PinnedMemory::close);
    }
}
