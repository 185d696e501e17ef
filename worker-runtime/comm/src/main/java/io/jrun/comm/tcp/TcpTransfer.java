package io.jrun.comm.tcp;

import io.jrun.comm.collective.PeerLinks;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A posted send or receive and how far it has come. Native memory is handed to the kernel as it is, window by window (a
 * {@link ByteBuffer} ends at 2 GiB); heap memory passes through the pair's staging buffer, since the JDK would copy the
 * whole rest of a heap buffer for every system call that moves a part of it. Confined to the lane's thread.
 */
final class TcpTransfer implements PeerLinks.Transfer {
    private static final long MAX_WINDOW = 1 << 24;
    private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

    private final PeerStream pair;
    private final MemorySegment memory;
    private final int step;
    private final boolean isHeader;
    private long windowStart;
    private ByteBuffer window = EMPTY;
    private boolean done;

    TcpTransfer(PeerStream pair, MemorySegment memory, int step) {
        this(pair, memory, step, false);
    }

    private TcpTransfer(PeerStream pair, MemorySegment memory, int step, boolean isHeader) {
        this.pair = pair;
        this.memory = memory;
        this.step = step;
        this.isHeader = isHeader;
    }

    /** A receive that is done with the header of the next frame. */
    static TcpTransfer ofHeader(PeerStream pair) {
        return new TcpTransfer(pair, MemorySegment.NULL, 0, true);
    }

    /** Whether this is done with the header, and leaves the rest to the next receive. */
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

    PeerStream pair() {
        return pair;
    }

    int step() {
        return step;
    }

    long length() {
        return memory.byteSize();
    }

    /** Whether every byte has passed the window. */
    boolean isDrained() {
        return windowStart + window.position() == length();
    }

    /** The next bytes to write; never empty unless all are written. */
    ByteBuffer outgoing(StagingBuffer staging) {
        if (!window.hasRemaining() && !isDrained()) {
            openWindow(staging);
            if (!memory.isNative()) {
                MemorySegment.copy(memory, windowStart, staging.memory(), 0, window.limit());
            }
        }
        return window;
    }

    /** Where the next bytes are to be read to; never without room unless all are read. */
    ByteBuffer incoming(StagingBuffer staging) {
        if (!window.hasRemaining() && !isDrained()) {
            openWindow(staging);
        }
        return window;
    }

    /** Brings what has been read where it belongs. */
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
