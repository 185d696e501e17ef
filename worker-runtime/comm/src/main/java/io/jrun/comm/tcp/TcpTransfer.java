package io.jrun.comm.tcp;

import io.jrun.comm.collective.PeerLinks;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A posted send or receive and its progress. The kernel gets native memory directly, in windows, because a
 * {@link ByteBuffer} is limited to 2 GiB. Heap memory passes through the stream's staging buffer, because the JDK would
 * copy the whole rest of a heap buffer for every system call that moves a part of the buffer. Confined to the channel's
 * thread.
 */
final class TcpTransfer implements PeerLinks.PeerTransfer {
    private static final long MAX_WINDOW = 1 << 24;
    private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

    private final PeerStream stream;
    private final MemorySegment memory;
    private final int step;
    private final boolean isHeader;
    private long windowStart;
    private ByteBuffer window = EMPTY;
    private boolean done;

    TcpTransfer(PeerStream stream, MemorySegment memory, int step) {
        this(stream, memory, step, false);
    }

    private TcpTransfer(PeerStream stream, MemorySegment memory, int step, boolean isHeader) {
        this.stream = stream;
        this.memory = memory;
        this.step = step;
        this.isHeader = isHeader;
    }

    /** Makes a receive of only the next frame's header. */
    static TcpTransfer ofHeader(PeerStream stream) {
        return new TcpTransfer(stream, MemorySegment.NULL, 0, true);
    }

    /** Whether this receive takes only the header, and leaves the rest to the next receive. */
    boolean isHeader() {
        return isHeader;
    }

    @Override
    public boolean isDone() {
        return done;
    }

    void markDone() {
        done = true;
        window = EMPTY;
    }

    PeerStream stream() {
        return stream;
    }

    int step() {
        return step;
    }

    long length() {
        return memory.byteSize();
    }

    /** Whether every byte has passed through the window. */
    boolean isDrained() {
        return windowStart + window.position() == length();
    }

    /** Returns the next bytes to write; empty only if all bytes are written. */
    ByteBuffer outgoing(StagingBuffer staging) {
        if (!window.hasRemaining() && !isDrained()) {
            openWindow(staging);
            if (!memory.isNative()) {
                MemorySegment.copy(memory, windowStart, staging.memory(), 0, window.limit());
            }
        }
        return window;
    }

    /** Returns the buffer for the next bytes; without room only if all bytes are read. */
    ByteBuffer incoming(StagingBuffer staging) {
        if (!window.hasRemaining() && !isDrained()) {
            openWindow(staging);
        }
        return window;
    }

    /** Copies received bytes from the staging buffer to the memory of the transfer. */
    void landed(StagingBuffer staging) {
        if (!memory.isNative() && !window.hasRemaining() && window.limit() > 0) {
            MemorySegment.copy(staging.memory(), 0, memory, windowStart, window.limit());
        }
    }

    private void openWindow(StagingBuffer staging) {
        windowStart += window.position();
        long left = length() - windowStart;
        if (memory.isNative()) {
            window = memory.asSlice(windowStart, Math.min(left, MAX_WINDOW)).asByteBuffer();
        } else {
            window = staging.buffer((int) Math.min(left, StagingBuffer.BYTES));
        }
    }
}
