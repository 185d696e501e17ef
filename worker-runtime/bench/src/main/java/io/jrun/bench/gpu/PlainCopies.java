package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The reference measurements for a checkpoint: one copy of the state between a device and pinned host memory, and one
 * file that is written and read as {@code dd bs=4M conv=fsync} does. For the CPU the host memory is not pinned.
 */
final class PlainCopies implements AutoCloseable {
    private static final long PIECE_BYTES = 4 << 20;
    private static final long ASK_NANOS = 5_000;

    private final Device device;
    private final @Nullable Cuda cuda;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment host;

    /** Takes host memory, and touches all of it. */
    PlainCopies(Device device, long bytes) {
        this.device = device;
        this.cuda = device.isCpu() ? null : Cuda.open();
        if (cuda != null) {
            cuda.use(device.index());
        }
        this.host = cuda == null ? arena.allocate(bytes, PIECE_BYTES) : cuda.pinned(bytes);
        host.fill((byte) 1);
    }

    /** Copies contiguous tensors to the host memory, one after the other, and waits. */
    void toHost(List<Tensor> tensors) {
        long at = 0;
        for (Tensor tensor : tensors) {
            MemorySegment elements = TensorMemory.elements(tensor);
            copy(host.asSlice(at, elements.byteSize()), elements, Cuda.DEVICE_TO_HOST);
            at += elements.byteSize();
        }
        await();
    }

    /** The inverse of {@link #toHost}. */
    void toDevice(List<Tensor> tensors) {
        long at = 0;
        for (Tensor tensor : tensors) {
            MemorySegment elements = TensorMemory.elements(tensor);
            copy(elements, host.asSlice(at, elements.byteSize()), Cuda.HOST_TO_DEVICE);
            at += elements.byteSize();
        }
        await();
    }

    private void copy(MemorySegment to, MemorySegment from, int direction) {
        if (cuda == null) {
            to.copyFrom(from);
        } else {
            cuda.copy(to, from, from.byteSize(), direction, Cuda.DEFAULT_STREAM);
        }
    }

    private void await() {
        while (cuda != null && !cuda.isDone(Cuda.DEFAULT_STREAM)) {
            LockSupport.parkNanos(ASK_NANOS);
        }
    }

    /** Writes the host memory to a new file by one thread, with one fsync at the end. */
    void write(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (long at = 0; at < host.byteSize(); at += PIECE_BYTES) {
                ByteBuffer piece = piece(at);
                while (piece.hasRemaining()) {
                    int _ = channel.write(piece);
                }
            }
            channel.force(true);
        }
    }

    /** Reads the file to the host memory by one thread. */
    void read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            for (long at = 0; at < host.byteSize(); at += PIECE_BYTES) {
                ByteBuffer piece = piece(at);
                while (piece.hasRemaining()) {
                    GpuCheck.require(channel.read(piece) > 0, file + " is too short");
                }
            }
        }
    }

    private ByteBuffer piece(long at) {
        return host.asSlice(at, Math.min(PIECE_BYTES, host.byteSize() - at)).asByteBuffer();
    }

    @Override
    public void close() {
        if (cuda != null) {
            cuda.use(device.index());
            cuda.freePinned(host);
        }
        arena.close();
    }
}
