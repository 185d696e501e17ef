package io.jrun.train.checkpoint.sharded;

import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Reads a part and verifies the checksum of every block of which it returns a byte. Blocks that are read whole go to
 * the destination directly. The last block that was read in part is kept, because the next tensor often begins in the
 * same block. Not thread-safe.
 */
final class VerifiedPart implements AutoCloseable {
    private static final long NO_BLOCK = -1;

    private final SavedPart part;
    private final ObjectReader reader;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment kept = arena.allocate(SavedPart.BLOCK_BYTES);
    private long keptBlock = NO_BLOCK;

    private VerifiedPart(SavedPart part, ObjectReader reader) {
        this.part = part;
        this.reader = reader;
    }

    static VerifiedPart open(Storage storage, String folder, SavedPart part) throws IOException {
        ObjectReader reader = storage.open(folder + part.file());
        if (reader.size() != part.bytes()) {
            long found = reader.size();
            reader.close();
            throw new StorageException(
                    "part " + part.file() + " has " + found + " bytes, but the index says " + part.bytes(), null);
        }
        return new VerifiedPart(part, reader);
    }

    /** Fills {@code destination} with the bytes from {@code position} on. */
    void read(long position, MemorySegment destination) throws IOException {
        long done = 0;
        while (done < destination.byteSize()) {
            long at = position + done;
            long block = at / SavedPart.BLOCK_BYTES;
            long start = block * SavedPart.BLOCK_BYTES;
            long size = Math.min(SavedPart.BLOCK_BYTES, part.bytes() - start);
            long count = Math.min(start + size - at, destination.byteSize() - done);
            if (count == size) {
                readBlock(block, start, destination.asSlice(done, size));
            } else {
                if (keptBlock != block) {
                    keptBlock = NO_BLOCK;
                    readBlock(block, start, kept.asSlice(0, size));
                    keptBlock = block;
                }
                MemorySegment.copy(kept, at - start, destination, done, count);
            }
            done += count;
        }
    }

    private void readBlock(long block, long start, MemorySegment destination) throws IOException {
        CRC32C checksum = new CRC32C();
        for (long at = 0; at < destination.byteSize(); at += reader.pieceBytes()) {
            ByteBuffer bytes = destination
                    .asSlice(at, Math.min(reader.pieceBytes(), destination.byteSize() - at))
                    .asByteBuffer();
            reader.read(start + at, bytes);
            checksum.update(bytes.flip());
        }
        long expected = part.checksums().get(Math.toIntExact(block));
        if (checksum.getValue() != expected) {
            throw new StorageException(
                    "part " + part.file() + " is damaged: the bytes from " + start + " on have the CRC32C "
                            + Long.toHexString(checksum.getValue()) + ", but the index says "
                            + Long.toHexString(expected),
                    null);
        }
    }

    @Override
    public void close() throws IOException {
        arena.close();
        reader.close();
    }
}
