package io.jrun.train.nccl;

import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The buffers of a call in memory that GPUs can reach: the buffers themselves, or copies in device memory. The device
 * memory stays until {@link #close}: cudaFree waits for all work of the device, also for an operation of another group
 * that waits for another rank. Not thread-safe: one call at a time.
 */
final class DeviceBuffers {
    private final Cuda cuda;
    private final List<MemorySegment> allocated = new ArrayList<>();
    private MemorySegment inputSpace = MemorySegment.NULL;
    private MemorySegment outputSpace = MemorySegment.NULL;
    private MemorySegment input = MemorySegment.NULL;
    private MemorySegment output = MemorySegment.NULL;

    DeviceBuffers(Cuda cuda) {
        this.cuda = cuda;
    }

    /** Queues the necessary copies of a call to device memory. */
    void bring(NativeBuffers callers, MemorySegment stream) {
        input = callers.input();
        if (isCopied(input)) {
            inputSpace = space(inputSpace, input.byteSize());
            cuda.copy(inputSpace, input, input.byteSize(), Cuda.HOST_TO_DEVICE, stream);
            input = inputSpace.asSlice(0, input.byteSize());
        }
        // The comparison is by address: segments with the same address are equal, also with different sizes.
        boolean inPlace = callers.output().equals(callers.input())
                && callers.output().byteSize() == callers.input().byteSize();
        output = callers.output();
        if (inPlace) {
            output = input;
        } else if (isCopied(output)) {
            outputSpace = space(outputSpace, output.byteSize());
            cuda.copy(outputSpace, output, output.byteSize(), Cuda.HOST_TO_DEVICE, stream);
            output = outputSpace.asSlice(0, output.byteSize());
        }
    }

    private boolean isCopied(MemorySegment buffer) {
        return buffer.byteSize() > 0 && !cuda.isReachable(buffer);
    }

    /** Returns device memory of at least {@code bytes}: the old one if it suffices. */
    private MemorySegment space(MemorySegment old, long bytes) {
        if (old.byteSize() >= bytes) {
            return old;
        }
        long size = Math.max(bytes, 2 * old.byteSize()); // All old ones together are smaller than the new one.
        MemorySegment memory = cuda.device(size).reinterpret(size);
        allocated.add(memory);
        return memory;
    }

    MemorySegment input() {
        return input;
    }

    MemorySegment output() {
        return output;
    }

    /** A byte of device memory. */
    MemorySegment word() {
        inputSpace = space(inputSpace, 1);
        return inputSpace;
    }

    /** Queues the copy of the result. */
    void bringBack(NativeBuffers callers, MemorySegment stream) {
        if (!output.equals(callers.output())) {
            cuda.copy(callers.output(), output, output.byteSize(), Cuda.DEVICE_TO_HOST, stream);
        }
    }

    /** Frees the device memory. No call follows. */
    void close() {
        allocated.forEach(cuda::freeDevice);
        allocated.clear();
    }
}
