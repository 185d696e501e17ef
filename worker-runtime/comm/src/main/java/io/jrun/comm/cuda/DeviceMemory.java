package io.jrun.comm.cuda;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;

/**
 * Memory of a GPU for programs that do not have libtorch's CUDA build: tests and checks of the collectives. Every
 * method throws {@link IllegalStateException} if the CUDA runtime reports an error. Not thread-safe.
 */
public final class DeviceMemory implements AutoCloseable {
    private static final long ASK_NANOS = 5_000;

    private final Cuda cuda;
    private final Device device;
    private final MemorySegment memory;

    /**
     * Allocates memory.
     *
     * @param device a CUDA device that this process sees
     * @param bytes at least 1
     */
    public DeviceMemory(Device device, long bytes) {
        this.cuda = Cuda.open();
        this.device = device;
        cuda.use(device.index());
        this.memory = cuda.device(bytes).reinterpret(bytes);
    }

    /** Free bytes of a CUDA device that this process sees, over all processes. */
    public static long freeBytes(Device device) {
        Cuda cuda = Cuda.open();
        cuda.use(device.index());
        return cuda.freeBytes();
    }

    /** The memory as elements of one type. */
    public Buffer buffer(DataType type) {
        return new Buffer(memory, type, memory.byteSize() / type.sizeBytes(), device);
    }

    /** Copies from native host memory of the same size, and waits for the copy. */
    public void copyFrom(MemorySegment host) {
        copy(memory, host, Cuda.HOST_TO_DEVICE);
    }

    /** Copies to native host memory of the same size, and waits for the copy. */
    public void copyTo(MemorySegment host) {
        copy(host, memory, Cuda.DEVICE_TO_HOST);
    }

    private void copy(MemorySegment to, MemorySegment from, int direction) {
        cuda.use(device.index());
        cuda.copy(to, from, memory.byteSize(), direction, Cuda.DEFAULT_STREAM);
        // The runtime ends a copy or reports an error; the driver has the deadline.
        while (!cuda.isDone(Cuda.DEFAULT_STREAM)) {
            LockSupport.parkNanos(ASK_NANOS);
        }
    }

    @Override
    public void close() {
        cuda.freeDevice(memory);
    }
}
