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
    private final ObjectWriter writer;
    private final CRC32C checksum = new CRC32C();
    private final List<Long> checksums = new ArrayList<>();
    private long bytes;

    ChecksummedPart(ObjectWriter writer) {
        this.writer = writer;
    }

    @Override
    public void write(ByteBuffer source) throws IOException {
        ByteBuffer unread = source.duplicate();
        while (unread.hasRemaining()) {
            int open = SavedPart.BLOCK_BYTES - (int) (bytes % SavedPart.BLOCK_BYTES);
            int count = Math.min(open, unread.remaining());
            checksum.update(unread.slice(unread.position(), count));
            unread.position(unread.position() + count);
            bytes += count;
            if (count == open) {
                endBlock();
            }
        }
        writer.write(source);
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
