package io.jrun.comm.shm;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.kernel.Memory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The group's failure in the control block. The first rank that fails writes it, and the other ranks read it.
 * Thread-safe.
 */
final class SharedFailure {
    private static final int HEALTHY = 0;
    private static final int BEING_WRITTEN = 1;
    private static final int WRITTEN = 2;

    /** Far more time than writing some kilobytes takes. A writer that has not finished by then was killed. */
    private static final long WRITING_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final ControlBlock block;

    SharedFailure(ControlBlock block) {
        this.block = block;
    }

    /** Writes {@code failure} unless there is a failure already. */
    void write(CommException failure) {
        if (SharedWords.compareAndSet(block.poisonState(), HEALTHY, BEING_WRITTEN)) {
            byte[] text = (failure.code() + "\n" + failure.getMessage()).getBytes(UTF_8);
            int length = Math.min(text.length, ControlBlock.MAX_TEXT_BYTES);
            MemorySegment.copy(text, 0, Memory.ALL, ValueLayout.JAVA_BYTE, block.poisonText(), length);
            SharedWords.publishInt(block.poisonLength(), length);
            SharedWords.publishInt(block.poisonState(), WRITTEN);
        }
    }

    /**
     * Writes {@code failure} unless there is a failure already. Returns the written failure, which all ranks report.
     */
    CommException settle(CommException failure) {
        write(failure);
        long end = System.nanoTime() + WRITING_NANOS;
        CommException written = read();
        while (written == null && System.nanoTime() - end < 0) {
            Thread.onSpinWait();
            written = read();
        }
        return written == null ? failure : written;
    }

    /** Returns the group's failure, or null. */
    @Nullable
    CommException read() {
        if (SharedWords.acquireInt(block.poisonState()) != WRITTEN) {
            return null;
        }
        byte[] text =
                new byte[Math.clamp(SharedWords.acquireInt(block.poisonLength()), 0, ControlBlock.MAX_TEXT_BYTES)];
        MemorySegment.copy(Memory.ALL, ValueLayout.JAVA_BYTE, block.poisonText(), text, 0, text.length);
        String[] codeAndMessage = new String(text, UTF_8).split("\n", 2);
        return new CommException(ErrorCode.valueOf(codeAndMessage[0]), codeAndMessage[1]);
    }
}
