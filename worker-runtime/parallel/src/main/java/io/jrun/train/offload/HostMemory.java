package io.jrun.train.offload;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Host memory in which the threads of files read and write the elements of tensors: the tensor's own memory on the CPU,
 * pinned memory for a tensor of a GPU. Memory whose copy has ended is used again. Confined to the training thread.
 */
final class HostMemory implements AutoCloseable {
    /**
     * Pieces of pinned memory of a GPU: two reads of values, one read of gradients and two writes run at a time, beside one
     * copy to the GPU. A training thread that queues work faster than the GPU runs it waits here for the GPU. Without the
     * limit the thread would take pinned memory for all units.
     */
    static final int MOST_PIECES = 6;

    private final Duration timeout;
    private final Map<Device, GpuPieces> ofGpus = new HashMap<>();

    /** @param timeout longest wait for a copy */
    HostMemory(Duration timeout) {
        this.timeout = timeout;
    }

    /** Memory for the elements of a flat tensor. */
    HostElements of(Tensor tensor) {
        Device device = TensorMemory.device(tensor);
        return device.isCpu() || tensor.numel() == 0
                ? new OwnElements(tensor)
                : ofGpus.computeIfAbsent(device, GpuPieces::new).take(tensor);
    }

    /** The elements of a flat tensor. The copy of a tensor of a GPU is queued on the default stream. */
    HostElements copyOf(Tensor tensor) {
        HostElements elements = of(tensor);
        if (elements instanceof PinnedElements pinned) {
            pinned.piece.copyFrom(pinned.onDevice);
        }
        return elements;
    }

    /**
     * Waits for the copies, and frees the pinned memory. Memory whose transfer has failed, or whose copy does not end
     * within the timeout, is not freed, because the transfer or the copy may still use it.
     */
    @Override
    public void close() {
        ofGpus.values().forEach(GpuPieces::close);
    }

    /** The memory of a tensor of the CPU. Keeps the tensor: the program may drop the tensor after a failure. */
    private record OwnElements(Tensor tensor) implements HostElements {
        @Override
        public MemorySegment onHost() {
            return tensor.numel() == 0 ? MemorySegment.NULL : TensorMemory.segment(tensor);
        }

        @Override
        public void awaitCopy() {}

        @Override
        public boolean isCopied() {
            return true;
        }

        @Override
        public void copyToDevice() {}

        @Override
        public void release() {}
    }

    /** Pinned memory, in which a tensor of a GPU has its elements. */
    private record PinnedElements(MemorySegment onDevice, PinnedPiece piece, GpuPieces owner) implements HostElements {
        @Override
        public MemorySegment onHost() {
            return piece.memory().asSlice(0, onDevice.byteSize());
        }

        @Override
        public void awaitCopy() {
            piece.awaitCopy();
        }

        @Override
        public boolean isCopied() {
            return piece.isCopied();
        }

        @Override
        public void copyToDevice() {
            piece.copyTo(onDevice);
            release();
        }

        @Override
        public void release() {
            owner.free.add(piece);
        }
    }

    /** The pieces of one GPU. */
    private final class GpuPieces {
        private final Cuda cuda = Cuda.open();
        private final Device device;

        /** The pieces that no transfer uses, the longest unused first. */
        private final Deque<PinnedPiece> free = new ArrayDeque<>();

        private int made;

        GpuPieces(Device device) {
            this.device = device;
        }

        PinnedElements take(Tensor tensor) {
            long bytes = tensor.nbytes();
            PinnedPiece piece = find(bytes);
            if (piece == null) {
                cuda.use(device.index());
                piece = new PinnedPiece(cuda, device, bytes, timeout);
                made++;
            }
            return new PinnedElements(TensorMemory.elements(tensor), piece, this);
        }

        /** A free piece of enough bytes; null if a new piece is needed. */
        private @Nullable PinnedPiece find(long bytes) {
            PinnedPiece found = free.stream()
                    .filter(piece -> piece.memory().byteSize() >= bytes && piece.isCopied())
                    .findFirst()
                    .orElse(null);
            if (found == null && made >= MOST_PIECES) {
                found = free.stream()
                        .filter(piece -> piece.memory().byteSize() >= bytes)
                        .findFirst()
                        .orElse(null);
                if (found != null) {
                    found.awaitCopy();
                }
            }
            if (found != null) {
                free.remove(found);
            }
            return found;
        }

        void close() {
            cuda.use(device.index());
            long begin = System.nanoTime();
            for (PinnedPiece piece : free) {
                if (piece.isCopiedWithin(timeout.minusNanos(System.nanoTime() - begin))) {
                    piece.close();
                }
            }
            free.clear();
        }
    }
}
