package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.storage.ObjectWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** Writes a part and computes the checksums of its blocks. */
final class ChecksummedPart implements Safetensors.Sink {
    /**
     * Pieces begin at multiples of their size. Linux then caches a piece in few large pages, which a load reads faster
     * than many small pages. A piece that was read for its checksum is still in the processor's cache when the piece is
     * written.
     */
    private static final int PIECE_BYTES = 1 << 20;

    private final ObjectWriter writer;
    private final CRC32C checksum = new CRC32C();
    private final List<Long> checksums = new ArrayList<>();
    private long bytes;

    ChecksummedPart(ObjectWriter writer) {
        this.writer = writer;
    }

    @Override
    public void write(ByteBuffer source) throws IOException {
        while (source.hasRemaining()) {
            int open = PIECE_BYTES - (int) (bytes % PIECE_BYTES);
            int count = Math.min(open, source.remaining());
            ByteBuffer piece = source.slice(source.position(), count);
            checksum.update(piece.duplicate());
            writer.write(piece);
            source.position(source.position() + count);
            bytes += count;
            if (bytes % SavedPart.BLOCK_BYTES == 0) {
                endBlock();
            }
        }
    }

    private void endBlock() {
        checksums.add(checksum.getValue());
        checksum.reset();
    }

    /** Returns the part after its last byte. */
    SavedPart end(String file) {
        if (bytes % SavedPart.BLOCK_BYTES != 0) {
            endBlock();
        }
        return new SavedPart(file, bytes, checksums);
    }
}
