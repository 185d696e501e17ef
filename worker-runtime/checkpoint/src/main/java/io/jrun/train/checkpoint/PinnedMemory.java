package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Host memory to which a GPU copies several times as fast as to other memory. A host that has no more memory to pin makes
 * copies slow, and no training fail. Internal to the packages of checkpoints. One thread at a time closes an object.
 */
public final class PinnedMemory implements AutoCloseable {
    private static @Nullable Cuda shared;

    private final Device device;
    private final MemorySegment memory;
    private final boolean isOwn;

    private PinnedMemory(Device device, MemorySegment memory, boolean isOwn) {
        this.device = device;
        this.memory = memory;
        this.isOwn = isOwn;
    }

    /**
     * Takes memory with undefined bytes.
     *
     * @param source the device that will copy to the memory
     * @return empty if the device is no GPU, or if the host has no memory that can be pinned
     */
    static Optional<PinnedMemory> take(Device source, long bytes) {
        return of(source, bytes, true, cuda -> cuda.pinned(bytes));
    }

    /**
     * Pins memory of the caller until {@link #close}, which comes before the end of the memory.
     *
     * @param source as of {@link #take}
     * @return as of {@link #take}
     */
    public static Optional<PinnedMemory> pin(Device source, MemorySegment memory) {
        return of(source, memory.byteSize(), false, cuda -> {
            cuda.register(memory);
            return memory;
        });
    }

    private static Optional<PinnedMemory> of(
            Device source, long bytes, boolean isOwn, Function<Cuda, MemorySegment> pinned) {
        Device device = TensorMemory.computing(source);
        if (bytes == 0 || !device.type().equals("cuda")) {
            return Optional.empty();
        }
        Cuda cuda = use(device);
        try {
            return Optional.of(new PinnedMemory(device, pinned.apply(cuda), isOwn));
        } catch (IllegalStateException _) {
            return Optional.empty();
        }
    }

    /** The functions for a device; without the device a call would open a context on device 0. */
    private static Cuda use(Device device) {
        Cuda cuda = cuda();
        cuda.use(device.index());
        return cuda;
    }

    /** One for all memory: each has a method handle for each function. */
    private static synchronized Cuda cuda() {
        Cuda cuda = shared;
        if (cuda == null) {
            cuda = Cuda.open();
            shared = cuda;
        }
        return cuda;
    }

    MemorySegment segment() {
        return memory;
    }

    /** Frees memory of {@link #take}. Memory of {@link #pin} is not pinned any more. */
    @Override
    public void close() {
        Cuda cuda = use(device);
        if (isOwn) {
            cuda.freePinned(memory);
        } else {
            cuda.unregister(memory);
        }
    }
}
