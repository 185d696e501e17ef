package io.jrun.comm.shm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The system calls that the JDK does not offer. All calls use syscall(2), so that only one native function must be
 * linked: the first link costs tens of milliseconds, and each further link costs more. Results below zero are negative
 * errno values. Stateless.
 */
final class SystemCalls {
    static final int ENOENT = 2;
    static final int EEXIST = 17;
    static final int ENOSPC = 28;

    private static final int EINTR = 4;
    private static final long AT_FDCWD = -100;
    private static final long AT_SYMLINK_FOLLOW = 0x400;
    private static final long O_RDWR = 2;
    private static final long O_NONBLOCK = 0x800;
    private static final long O_CLOEXEC = 0x80000;
    private static final long OWNER_ONLY = 0600;
    private static final long LOCK_SHARED_NOW = 1 | 4;
    private static final long LOCK_EXCLUSIVE_NOW = 2 | 4;
    private static final long FUTEX_WAIT = 0;
    private static final long FUTEX_WAKE = 1;

    /** The longest sleep. A waiter therefore sees its deadline even if no thread wakes it. */
    private static final long MAX_SLEEP_NANOS = 100_000_000;

    private static final Numbers NUMBERS = Numbers.ofThisMachine();
    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle SYSCALL = syscall(Linker.Option.captureCallState("errno"));

    /**
     * A handle without errno, which these calls do not need. This saves an object per call until the code is compiled.
     */
    private static final MethodHandle FUTEX = syscall();

    private static final MemorySegment MAX_SLEEP = maxSleep();

    /** The values that differ between processor architectures. Source: the kernel's unistd.h of each architecture. */
    private record Numbers(
            long openat,
            long close,
            long flock,
            long fallocate,
            long ftruncate,
            long linkat,
            long futex,
            long tmpfile,
            long noFollow) {
        static Numbers ofThisMachine() {
            String architecture = System.getProperty("os.arch");
            return switch (architecture) {
                case "amd64" -> new Numbers(257, 3, 73, 285, 77, 265, 202, 0x410000, 0x20000);
                case "aarch64" -> new Numbers(56, 57, 32, 47, 46, 37, 98, 0x404000, 0x8000);
                default ->
                    throw new CommException(
                            ErrorCode.SYSTEM,
                            "shared memory is not supported on " + architecture + ". Use JRUN_TRANSPORT=tcp.");
            };
        }
    }

    private SystemCalls() {}

    /** Opens a file without a name in {@code directory}, readable only by its owner. */
    static int openUnnamed(String directory) {
        return open(directory, NUMBERS.tmpfile() | O_RDWR | O_CLOEXEC);
    }

    /** Opens an existing file. The path must not end in a symbolic link. Opening a FIFO does not block. */
    static int open(String path) {
        return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | NUMBERS.noFollow());
    }

    private static int open(String path, long flags) {
        try (Arena arena = Arena.ofConfined()) {
            long name = arena.allocateFrom(path).address();
            return (int) call(NUMBERS.openat(), AT_FDCWD, name, flags, OWNER_ONLY, 0);
        }
    }

    static void close(int file) {
        long _ = call(NUMBERS.close(), file, 0, 0, 0, 0);
    }

    /** Takes a shared lock without waiting. */
    static int lockShared(int file) {
        return (int) call(NUMBERS.flock(), file, LOCK_SHARED_NOW, 0, 0, 0);
    }

    /**
     * Takes an exclusive lock without waiting. The lock belongs to the open file, so the lock also excludes ranks of
     * the same process.
     */
    static int lock(int file) {
        return (int) call(NUMBERS.flock(), file, LOCK_EXCLUSIVE_NOW, 0, 0, 0);
    }

    /** Gives an unnamed file its name. Never replaces an existing file. */
    static int link(int file, String path) {
        try (Arena arena = Arena.ofConfined()) {
            long from = arena.allocateFrom("/proc/self/fd/" + file).address();
            long to = arena.allocateFrom(path).address();
            return (int) call(NUMBERS.linkat(), AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
        }
    }

    /** Sets the length of the file. The new part takes no space yet. */
    static int setLength(int file, long bytes) {
        return (int) call(NUMBERS.ftruncate(), file, bytes, 0, 0, 0);
    }

    /** Allocates the space of a part of the file, so that later writes cannot fail. */
    static int allocate(int file, long offset, long bytes) {
        long result;
        do {
            result = call(NUMBERS.fallocate(), file, 0, offset, bytes, 0);
        } while (result == -EINTR);
        return (int) result;
    }

    /**
     * Sleeps while the 32-bit word at {@code address} of shared memory holds {@code expected}. May wake up spuriously.
     * Source: futex(2).
     */
    static void futexAwait(long address, int expected) {
        futex(address, FUTEX_WAIT, expected, MAX_SLEEP.address());
    }

    /** Wakes all threads, in all processes, that sleep on the word. */
    static void futexWake(long address) {
        futex(address, FUTEX_WAKE, Integer.MAX_VALUE, 0);
    }

    private static void futex(long address, long operation, int value, long timeout) {
        try {
            long _ = (long) FUTEX.invokeExact(NUMBERS.futex(), address, operation, (long) value, timeout, 0L);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static long call(long number, long a, long b, long c, long d, long e) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            long result = (long) SYSCALL.invokeExact(state, number, a, b, c, d, e);
            return result >= 0 ? result : -(int) ERRNO.get(state, 0L);
        } catch (Throwable failure) {
            throw new AssertionError(failure);
        }
    }

    private static MethodHandle syscall(Linker.Option... options) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                options);
    }

    private static MemorySegment maxSleep() {
        MemorySegment timespec = Arena.global().allocate(JAVA_LONG, 2);
        timespec.setAtIndex(JAVA_LONG, 0, 0);
        timespec.setAtIndex(JAVA_LONG, 1, MAX_SLEEP_NANOS);
        return timespec;
    }
}
