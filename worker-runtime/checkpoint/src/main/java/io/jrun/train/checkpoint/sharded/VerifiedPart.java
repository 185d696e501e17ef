package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Device;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Reads a part and verifies the checksum of every block of which it returns a byte. Bytes go to the destination
 * directly, and the checksum follows in the order of the file, also through a block that several tensors share. If
 * small reads are slow, as from S3, a block is read whole and kept, because many small tensors lie in one block. A block
 * that is read into the memory of a device is read whole and kept there, and verified in a copy on the host. Not
 * thread-safe.
 */
final class VerifiedPart implements AutoCloseable {
    private static final long NO_BLOCK = -1;

    private final SavedPart part;
    private final ObjectReader reader;
    /** Fresh memory of libtorch: only the pages that are used cost a page fault. */
    private final Tensor memory = TensorMemory.empty(Device.CPU, torch.ScalarType.Byte, SavedPart.BLOCK_BYTES);

    private final MemorySegment kept = TensorMemory.segment(memory);
    private final CRC32C checksum = new CRC32C();

    /** The block that was read up to {@code readBytes}, and that is not verified yet. */
    private long openBlock = NO_BLOCK;

    private long readBytes;

    /** The verified block whose bytes from {@code keptFrom} on are kept. */
    private long keptBlock = NO_BLOCK;

    private long keptFrom;

    /** The verified block in the memory of a device; null before the first read into such memory. */
    private @Nullable DeviceBlock onDevice;

    VerifiedPart(SavedPart part, ObjectReader reader) {
        this.part = part;
        this.reader = reader;
    }

    static VerifiedPart open(Storage storage, String folder, SavedPart part) throws IOException {
        ObjectReader reader = storage.open(folder + part.file());
        try {
            long found = reader.size();
            if (found != part.bytes()) {
                throw new StorageException(
                        "part " + part.file() + " has " + found + " bytes, but the index says " + part.bytes(), null);
            }
            return new VerifiedPart(part, reader);
        } catch (IOException | RuntimeException e) {
            try {
                reader.close();
            } catch (IOException second) {
                e.addSuppressed(second);
            }
            throw e;
        }
    }

    /** The device into whose memory the part is read for tensors of a device, see {@link ObjectReader#place}. */
    Device place(Device wanted) throws IOException {
        return reader.place(wanted);
    }

    /**
     * Fills {@code destination} with the bytes from {@code position} on. The last bytes are verified by a later call,
     * or by {@link #finish}.
     *
     * @param destination memory of the device
     * @param device a result of {@link #place}
     */
    void read(long position, MemorySegment destination, Device device) throws IOException {
        long done = 0;
        while (done < destination.byteSize()) {
            long block = (position + done) / SavedPart.BLOCK_BYTES;
            long from = (position + done) % SavedPart.BLOCK_BYTES;
            long count = Math.min(size(block) - from, destination.byteSize() - done);
            MemorySegment piece = destination.asSlice(done, count);
            if (device.isCpu()) {
                readWithin(block, from, piece);
            } else {
                TensorMemory.copy(deviceBlock(block, device).bytes(from, count), piece, device);
            }
            done += count;
        }
    }

    /** A block in the memory of a device. Its copy on the host becomes the kept block. */
    private DeviceBlock deviceBlock(long block, Device device) throws IOException {
        DeviceBlock held = onDevice;
        if (held == null || !held.device().equals(device)) {
            if (held != null) {
                held.close();
            }
            held = new DeviceBlock(device);
            onDevice = held;
        }
        if (!held.holds(block)) {
            finish();
            keptBlock = NO_BLOCK;
            long bytes = size(block);
            held.read(reader, block, bytes);
            held.copyToHost(memory, bytes);
            checksum.reset();
            checksum.update(kept.asSlice(0, bytes).asByteBuffer());
            verify(block);
            keptFrom = 0;
            held.verified();
        }
        return held;
    }

    private void readWithin(long block, long from, MemorySegment destination) throws IOException {
        if (block != openBlock && (block != keptBlock || from < keptFrom)) {
            finish();
            keptBlock = NO_BLOCK;
            openBlock = block;
            readBytes = 0;
            checksum.reset();
        }
        long count = destination.byteSize();
        boolean isDirect = count == size(block) || reader.pieceBytes() < SavedPart.BLOCK_BYTES;
        if (block == openBlock && from >= readBytes && isDirect) {
            readOn(kept.asSlice(readBytes, from - readBytes));
            readOn(destination);
            if (readBytes == size(block)) {
                finish();
            }
            return;
        }
        if (block == openBlock) {
            finish();
        }
        if (from < keptFrom) {
            readWithin(block, from, destination); // the bytes were passed: the block is read again
        } else {
            MemorySegment.copy(kept, from, destination, 0, count);
        }
    }

    private long size(long block) {
        return Math.min(SavedPart.BLOCK_BYTES, part.bytes() - block * SavedPart.BLOCK_BYTES);
    }

    /** Reads the next bytes of the open block. */
    private void readOn(MemorySegment destination) throws IOException {
        for (long at = 0; at < destination.byteSize(); at += reader.pieceBytes()) {
            ByteBuffer bytes = destination
                    .asSlice(at, Math.min(reader.pieceBytes(), destination.byteSize() - at))
                    .asByteBuffer();
            int count = bytes.remaining();
            reader.read(openBlock * SavedPart.BLOCK_BYTES + readBytes, bytes);
            checksum.update(bytes.flip());
            readBytes += count;
        }
    }

    /** Verifies all bytes that were returned. */
    void finish() throws IOException {
        long block = openBlock;
        if (block == NO_BLOCK) {
            return;
        }
        keptFrom = readBytes;
        readOn(kept.asSlice(readBytes, size(block) - readBytes));
        openBlock = NO_BLOCK;
        verify(block);
    }

    private void verify(long block) throws StorageException {
        long expected = part.checksums().get(Math.toIntExact(block));
        if (checksum.getValue() != expected) {
            throw new StorageException(
                    "part " + part.file() + " is damaged: the bytes from " + block * SavedPart.BLOCK_BYTES
                            + " on have the CRC32C " + Long.toHexString(checksum.getValue()) + ", but the index says "
                            + Long.toHexString(expected),
                    null);
        }
        keptBlock = block;
    }

    @Override
    public void close() throws IOException {
        try (reader) {
            memory.close();
        } finally {
            if (onDevice != null) {
                onDevice.close();
            }
        }
    }
}
