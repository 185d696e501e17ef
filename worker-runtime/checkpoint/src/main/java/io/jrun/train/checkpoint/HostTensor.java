package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A row-major tensor in host memory to which the elements of a tensor of a device are copied again and again. For a GPU
 * the memory is pinned: the GPU writes there several times as fast as to other memory. libtorch's own pinned memory
 * would take the next power of two of bytes. Internal to the packages of checkpoints. Confined to one thread at a time.
 */
public final class HostTensor implements AutoCloseable {
    private static @Nullable Cuda shared;

    private final Device device;
    private final Tensor tensor;
    private final MemorySegment pinned;

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
        device = TensorMemory.computing(source);
        pinned = bytes > 0 && device.type().equals("cuda") ? pinned(device, bytes) : MemorySegment.NULL;
        tensor = TensorMemory.own(
                pinned.address() == 0
                        ? TensorMemory.empty(Device.CPU, type, sizes)
                        : TensorMemory.tensor(pinned, type, sizes));
    }

    /** Pinned memory; NULL if the host has no memory that can be pinned: the copies are then slower, and right. */
    private static MemorySegment pinned(Device device, long bytes) {
        Cuda cuda = cuda();
        cuda.use(device.index()); // else the call would open a context on device 0
        try {
            return cuda.pinned(bytes);
        } catch (IllegalStateException _) {
            return MemorySegment.NULL;
        }
    }

    /** One for all tensors: each has a method handle for each function. */
    private static synchronized Cuda cuda() {
        Cuda cuda = shared;
        if (cuda == null) {
            cuda = Cuda.open();
            shared = cuda;
        }
        return cuda;
    }

    /** The tensor, which lives until {@link #close}. */
    public Tensor tensor() {
        return tensor;
    }

    @Override
    public void close() {
        tensor.close();
        if (pinned.address() != 0) {
            Cuda cuda = cuda();
            cuda.use(device.index());
            cuda.freePinned(pinned);
        }
    }
}
