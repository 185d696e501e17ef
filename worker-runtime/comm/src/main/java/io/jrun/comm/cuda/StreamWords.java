package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * Words of pinned host memory by which streams and the host wait for each other: the stream memory operations of the
 * driver. A failed function throws IllegalStateException. Immutable.
 */
public final class StreamWords {
    private static final String FILE = "libcuda.so.1";

    /** CU_STREAM_WAIT_VALUE_GEQ, CU_STREAM_WRITE_VALUE_DEFAULT. */
    private static final int DEFAULTS = 0;

    private final MethodHandle await;
    private final MethodHandle write;

    private StreamWords(NativeLibrary driver) {
        this.await = driver.function("cuStreamWaitValue32_v2", ADDRESS, ADDRESS, JAVA_INT, JAVA_INT);
        this.write = driver.function("cuStreamWriteValue32_v2", ADDRESS, ADDRESS, JAVA_INT, JAVA_INT);
    }

    /**
     * Loads the driver.
     *
     * @throws MissingLibraryException if there is no driver, or if it is too old
     */
    public static StreamWords open() {
        return new StreamWords(NativeLibrary.open(List.of(FILE))
                .orElseThrow(() -> new MissingLibraryException(
                        "NVIDIA's driver is not installed (" + FILE + "). Install a driver of version 525 or newer")));
    }

    /**
     * Makes later work of {@code stream} run after the word has reached {@code value}: the difference of the word and
     * the value, in 32 bits, is not negative.
     */
    public void await(MemorySegment stream, MemorySegment word, int value) {
        try {
            check((int) await.invokeExact(stream, word, value, DEFAULTS), "cuStreamWaitValue32");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Writes the word after all earlier work of {@code stream}. The host then sees the results of this work. */
    public void write(MemorySegment stream, MemorySegment word, int value) {
        try {
            check((int) write.invokeExact(stream, word, value, DEFAULTS), "cuStreamWriteValue32");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    private static void check(int code, String what) {
        if (code != Cuda.SUCCESS) {
            throw new IllegalStateException(what + " failed with CUDA error " + code);
        }
    }
}
