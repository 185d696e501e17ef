package io.jrun.comm.staging;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Pinned host memory of one message, with a word that a stream writes after a copy. Used by one message at a time.
 * Guarded by {@link DeviceMessages}, except {@link #isWritten}.
 */
final class PinnedBuffer {
    private static final long LINE = 64;
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    private final Cuda cuda;
    private final MemorySegment all;
    private final MemorySegment memory;
    private final MemorySegment word;
    /** Stands for the work of the program before the message, then for the copy of the message. */
    private final MemorySegment event;

    private boolean isCopied;

    /** @param bytes size of the largest message */
    PinnedBuffer(Cuda cuda, long bytes) {
        this.cuda = cuda;
        this.all = PinnedPool.take(cuda, LINE + bytes);
        this.word = all.asSlice(0, Integer.BYTES);
        this.memory = all.asSlice(LINE);
        this.event = cuda.event();
        reset();
    }

    /** The number of bytes. */
    long bytes() {
        return memory.byteSize();
    }

    /** The first {@code bytes} bytes. */
    MemorySegment memory(long bytes) {
        return memory.asSlice(0, bytes);
    }

    MemorySegment word() {
        return word;
    }

    MemorySegment event() {
        return event;
    }

    /** Begins the use by a message. */
    void reset() {
        isCopied = false;
        WORD.setRelease(word, 0L, 0);
    }

    /** A copy of the message, and the word after it, are about to be queued. */
    void copying() {
        isCopied = true;
    }

    /** Whether a stream may still read or write the memory or the word. Another message must not use them then. */
    boolean isBusy() {
        return isCopied && !isWritten();
    }

    /** Whether the stream has written the word. */
    boolean isWritten() {
        return (int) WORD.getAcquire(word, 0L) != 0;
    }

    /** Lets {@code stream} wait for the event. */
    void awaitOn(DeviceStream stream, Device device) {
        if (!stream.device().equals(device)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "awaitOn: the stream is of the device " + stream.device() + ", but the message is in memory of "
                            + device + ". Give a stream of " + device + ".");
        }
        cuda.use(device.index());
        cuda.await(MemorySegment.ofAddress(stream.handle()), event);
    }

    /** Ends the use by a group. Memory that is busy stays allocated for ever. */
    void close() {
        cuda.destroyEvent(event);
        if (!isBusy()) {
            PinnedPool.giveBack(all);
        }
    }
}
