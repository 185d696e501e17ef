package io.jrun.comm.shm;

import io.jrun.comm.kernel.Memory;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Access to words of shared memory by address, with the memory order of each use. Stateless. */
final class SharedWords {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private SharedWords() {}

    /** Reads a word. Earlier writes of the word's writer are visible afterwards. */
    static long acquire(long address) {
        return (long) LONG.getAcquire(Memory.ALL, address);
    }

    /**
     * Reads a word after every earlier {@link #publish} or {@link #add} of this thread. {@link #acquire} may read
     * before them.
     */
    static long latest(long address) {
        return (long) LONG.getVolatile(Memory.ALL, address);
    }

    static int latestInt(long address) {
        return (int) INT.getVolatile(Memory.ALL, address);
    }

    /** Writes a word after all earlier writes. */
    static void publish(long address, long value) {
        LONG.setVolatile(Memory.ALL, address, value);
    }

    /** Writes a word after all earlier writes. Unlike {@link #publish}, later reads of this thread may come first. */
    static void release(long address, long value) {
        LONG.setRelease(Memory.ALL, address, value);
    }

    static int acquireInt(long address) {
        return (int) INT.getAcquire(Memory.ALL, address);
    }

    static void publishInt(long address, int value) {
        INT.setVolatile(Memory.ALL, address, value);
    }

    /** Adds atomically. Returns the sum. */
    static int add(long address, int delta) {
        return (int) INT.getAndAdd(Memory.ALL, address, delta) + delta;
    }

    static boolean compareAndSet(long address, int expected, int desired) {
        return INT.compareAndSet(Memory.ALL, address, expected, desired);
    }

    static long plain(long address) {
        return Memory.ALL.get(ValueLayout.JAVA_LONG, address);
    }

    static void plain(long address, long value) {
        Memory.ALL.set(ValueLayout.JAVA_LONG, address, value);
    }
}
