package io.jrun.comm.tcp;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A small native buffer between heap memory and a socket, made when first needed. Confined to the lane's thread. */
final class StagingBuffer {
    /** About what one system call moves; fits the second-level cache. */
    static final int BYTES = 128 * 1024;

    private @Nullable ByteBuffer buffer;

    /** The buffer, empty, with room for {@code bytes}. */
    ByteBuffer buffer(int bytes) {
        ByteBuffer current = buffer;
        if (current == null) {
            current = ByteBuffer.allocateDirect(BYTES);
            buffer = current;
        }
        return current.clear().limit(bytes);
    }

    /** The same memory from its beginning. */
    MemorySegment memory() {
        ByteBuffer current = buffer;
        if (current == null) {
            throw new IllegalStateException("nothing has been staged");
        }
        return MemorySegment.ofBuffer(current.duplicate().clear());
    }
}
