package io.jrun.train.offload;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Pinned host memory, and the event behind its last copy. Used by one transfer at a time. */
final class PinnedPiece {
    private static final long ASK_NANOS = 20_000;

    private final Cuda cuda;
    private final Device device;
    private final Duration timeout;
    private final MemorySegment memory;
    private final MemorySegment event;

    /** Allocates memory. The device is the current device of the thread. */
    PinnedPiece(Cuda cuda, Device device, long bytes, Duration timeout) {
        this.cuda = cuda;
        this.device = device;
        this.timeout = timeout;
        this.memory = cuda.pinned(bytes);
        this.event = cuda.event();
    }

    MemorySegment memory() {
        return memory;
    }

    /** Queues a copy from memory of the device on the default stream. */
    void copyFrom(MemorySegment onDevice) {
        cuda.use(device.index());
        cuda.copy(memory, onDevice, onDevice.byteSize(), Cuda.DEVICE_TO_HOST, Cuda.DEFAULT_STREAM);
        cuda.record(event, Cuda.DEFAULT_STREAM);
    }

    /** Queues a copy to memory of the device on the default stream. */
    void copyTo(MemorySegment onDevice) {
        cuda.use(device.index());
        cuda.copy(onDevice, memory, onDevice.byteSize(), Cuda.HOST_TO_DEVICE, Cuda.DEFAULT_STREAM);
        cuda.record(event, Cuda.DEFAULT_STREAM);
    }

    /** Whether the device has made the last copy. */
    boolean isCopied() {
        cuda.use(device.index());
        return cuda.hasHappened(event);
    }

    /** Waits for the last copy. Called by any thread. */
    void awaitCopy() {
        if (!isCopiedWithin(timeout)) {
            throw new OffloadException("a copy of " + memory.byteSize() + " bytes between " + device
                    + " and host memory has not ended within " + timeout
                    + ", the timeout of the process group. The work of the GPU before the copy has not ended.");
        }
    }

    /** Waits for the last copy. Returns whether the copy has ended within the time. */
    boolean isCopiedWithin(Duration longest) {
        long begin = System.nanoTime();
        while (!isCopied()) {
            if (System.nanoTime() - begin > longest.toNanos()) {
                return false;
            }
            LockSupport.parkNanos(ASK_NANOS);
        }
        return true;
    }

    void close() {
        cuda.destroyEvent(event);
        cuda.freePinned(memory);
    }
}
