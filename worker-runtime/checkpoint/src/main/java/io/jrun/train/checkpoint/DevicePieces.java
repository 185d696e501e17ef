package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Moves the elements of a device between its memory and a file, through one small piece of host memory: fresh host memory
 * for a whole tensor would cost a page fault for each page. Internal to the packages of checkpoints. Confined to one
 * thread.
 */
public final class DevicePieces implements AutoCloseable {
    private static final long PIECE_BYTES = 16 << 20;

    private @Nullable HostTensor piece;

    /** Takes the host memory at the first use. */
    public DevicePieces() {}

    /** Takes or gives the bytes of a piece. */
    @FunctionalInterface
    public interface Transfer {
        /**
         * Moves the bytes of a piece.
         *
         * @param from the place of the first byte among the elements
         * @param onHost the bytes in host memory, valid during the call
         */
        void move(long from, MemorySegment onHost) throws IOException;
    }

    /** Copies elements of a device to the host piece by piece, and calls {@code write} with each piece. */
    public void toHost(MemorySegment elements, Device device, Transfer write) throws IOException {
        for (long at = 0; at < elements.byteSize(); at += PIECE_BYTES) {
            MemorySegment part = elements.asSlice(at, Math.min(PIECE_BYTES, elements.byteSize() - at));
            MemorySegment host = host(device).asSlice(0, part.byteSize());
            try (NoGradGuard _ = new NoGradGuard();
                    Tensor source = bytes(part, device);
                    Tensor target = bytes(host, Device.CPU)) {
                DeviceWaits.copyToHost(source, target);
            }
            write.move(at, host);
        }
    }

    /** Calls {@code read} for each piece, and copies the piece to elements of a device. */
    public void toDevice(MemorySegment elements, Device device, Transfer read) throws IOException {
        for (long at = 0; at < elements.byteSize(); at += PIECE_BYTES) {
            MemorySegment part = elements.asSlice(at, Math.min(PIECE_BYTES, elements.byteSize() - at));
            MemorySegment host = host(device).asSlice(0, part.byteSize());
            read.move(at, host);
            try (NoGradGuard _ = new NoGradGuard();
                    Tensor source = bytes(host, Device.CPU);
                    Tensor target = bytes(part, device)) {
                target.copy_(source); // returns after the copy
            }
        }
    }

    private MemorySegment host(Device device) {
        HostTensor host = piece;
        if (host == null) {
            host = new HostTensor(device, torch.ScalarType.Byte, PIECE_BYTES);
            piece = host;
        }
        return TensorMemory.segment(host.tensor());
    }

    private static Tensor bytes(MemorySegment memory, Device device) {
        return TensorMemory.tensor(memory, device, torch.ScalarType.Byte, memory.byteSize());
    }

    @Override
    public void close() {
        if (piece != null) {
            piece.close();
        }
    }
}
