package io.jrun.comm.shm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Sleeping on a word of shared memory, between threads and processes. Source: futex(2). Stateless. */
final class Futex {
    private static final long SYS_FUTEX = 202;
    private static final long WAIT = 0;
    private static final long WAKE = 1;
    private static final long EVERYBODY = Integer.MAX_VALUE;

    /** No sleep is longer, so that a deadline is seen even if nobody ever wakes the sleeper. */
    private static final long MAX_SLEEP_NANOS = 100_000_000;

    private static final MemorySegment MAX_SLEEP = maxSleep();
    private static final MethodHandle SYSCALL = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("syscall"),
                    FunctionDescriptor.of(
                            JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                    Linker.Option.firstVariadicArg(1));

    private Futex() {}

    /** Sleeps while the 32-bit word at {@code address} holds {@code expected}; may wake for no reason. */
    static void await(long address, int expected) {
        call(address, WAIT, expected, MAX_SLEEP.address());
    }

    /** Wakes everybody who sleeps on the word. */
    static void wake(long address) {
        call(address, WAKE, (int) EVERYBODY, 0);
    }

    private static void call(long address, long operation, int value, long timeout) {
        try {
            long _ = (long) SYSCALL.invokeExact(SYS_FUTEX, address, operation, value, timeout, 0L, 0L);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MemorySegment maxSleep() {
        MemorySegment timespec = Arena.global().allocate(JAVA_LONG, 2);
        timespec.setAtIndex(JAVA_LONG, 0, 0);
        timespec.setAtIndex(JAVA_LONG, 1, MAX_SLEEP_NANOS);
        return timespec;
    }
}
