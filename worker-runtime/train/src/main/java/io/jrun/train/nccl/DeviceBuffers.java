package io.jrun.train.nccl;

import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The buffers of a call in memory that GPUs can reach: the buffers themselves, or copies in device memory. Confined to
 * the calling thread.
 */
final class DeviceBuffers implements AutoCloseable {
    private final Cuda cuda;
    private final MemorySegment stream;
    private final List<MemorySegment> copies = new ArrayList<>();
    private final NativeBuffers callers;
    private MemorySegment input = MemorySegment.NULL;
    private MemorySegment output = MemorySegment.NULL;

    private DeviceBuffers(Cuda cuda, NativeBuffers callers, MemorySegment stream) {
        this.cuda = cuda;
        this.callers = callers;
        this.stream = stream;
    }

    /** Queues the necessary copies to device memory. */
    static DeviceBuffers of(Cuda cuda, NativeBuffers callers, MemorySegment stream) {
        DeviceBuffers buffers = new DeviceBuffers(cuda, callers, stream);
        try {
            buffers.bring();
            return buffers;
        } catch (RuntimeException | Error failure) {
            buffers.close();
            throw failure;
        }
    }

    private void bring() {
        input = brought(callers.input());
        // The comparison is by address: segments with the same address are equal, also with different sizes.
        boolean inPlace = callers.output().equals(callers.input())
                && callers.output().byteSize() == callers.input().byteSize();
        output = inPlace ? input : brought(callers.output());
    }

    private MemorySegment brought(MemorySegment buffer) {
        if (buffer.byteSize() == 0 || cuda.isReachable(buffer)) {
            return buffer;
        }
        MemorySegment copy = cuda.device(buffer.byteSize()).reinterpret(buffer.byteSize());
        copies.add(copy);
        cuda.copy(copy, buffer, buffer.byteSize(), Cuda.HOST_TO_DEVICE, stream);
        return copy;
    }

    MemorySegment input() {
        return input;
    }

    MemorySegment output() {
        return output;
    }

    /** A byte of device memory. */
    MemorySegment word() {
        MemorySegment word = cuda.device(1);
        copies.add(word);
        return word;
    }

    /** Queues the copy of the result. */
    void bringBack() {
        if (!output.equals(callers.output())) {
            cuda.copy(callers.output(), output, output.byteSize(), Cuda.DEVICE_TO_HOST, stream);
        }
    }

    @Override
    public void close() {
        copies.forEach(cuda::freeDevice);
    }
}
