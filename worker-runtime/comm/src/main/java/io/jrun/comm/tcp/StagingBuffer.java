package io.jrun.comm.tcp;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A small native buffer between heap memory and a socket, allocated at first use. Confined to the channel's thread. */
final class StagingBuffer {
    /** About the size of one system call's transfer. Fits into the second-level cache. */
    static final int BYTES = 128 * 1024;

    private @Nullable ByteBuffer buffer;

    /** Returns the empty buffer with room for {@code bytes}. */
    ByteBuffer buffer(int bytes) {
        ByteBuffer current = buffer;
        if (current == null) {
            current = ByteBuffer.allocateDirect(BYTES);
            buffer = current;
        }
        return current.clear().limit(bytes);
    }

    /** Returns the memory of the buffer from its beginning. */
    MemorySegment memory() {
        ByteBuffer current = buffer;
        if (current == null) {
            throw new IllegalStateException("the buffer has not been used yet");
        }
        return MemorySegment.ofBuffer(current.duplicate().clear());
    }
}
