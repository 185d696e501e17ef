package io.jrun.comm.shm;

import io.jrun.comm.kernel.Memory;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Words of shared memory by address, with the memory order each use needs. Stateless. */
final class SharedWords {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private SharedWords() {}

    /** Reads; what the writer wrote before is visible afterwards. */
    static long acquire(long address) {
        return (long) LONG.getAcquire(Memory.ALL, address);
    }

    /** Reads after every earlier {@link #publish} or {@link #add} of this thread, which {@link #acquire} may precede. */
    static long latest(long address) {
        return (long) LONG.getVolatile(Memory.ALL, address);
    }

    static int latestInt(long address) {
        return (int) INT.getVolatile(Memory.ALL, address);
    }

    /** Writes after everything before. */
    static void publish(long address, long value) {
        LONG.setVolatile(Memory.ALL, address, value);
    }

    /** Writes after everything before; the writer's own later reads may come first, unlike with {@link #publish}. */
    static void release(long address, long value) {
        LONG.setRelease(Memory.ALL, address, value);
    }

    static int acquireInt(long address) {
        return (int) INT.getAcquire(Memory.ALL, address);
    }

    static void publishInt(long address, int value) {
        INT.setVolatile(Memory.ALL, address, value);
    }

    /** Adds atomically and returns the sum. */
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
