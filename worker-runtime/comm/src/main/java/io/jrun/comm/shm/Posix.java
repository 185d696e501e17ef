package io.jrun.comm.shm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** The system calls that the JDK does not offer. Every method returns the result, or the negative errno. Stateless. */
final class Posix {
    static final int ENOENT = 2;
    static final int EEXIST = 17;
    static final int ENOSPC = 28;
    static final int EWOULDBLOCK = 11;

    private static final int EINTR = 4;
    private static final int O_RDWR = 2;
    private static final int O_CLOEXEC = 0x80000;
    private static final int O_TMPFILE = 0x410000;
    private static final int OWNER_ONLY = 0600;
    private static final int LOCK_EXCLUSIVE_NOW = 2 | 4;
    private static final int AT_FDCWD = -100;
    private static final int AT_SYMLINK_FOLLOW = 0x400;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CALL_STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private static final MethodHandle OPEN = LINKER.downcallHandle(
            symbol("open"),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
            CAPTURE,
            Linker.Option.firstVariadicArg(2));
    private static final MethodHandle CLOSE =
            LINKER.downcallHandle(symbol("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT), CAPTURE);
    private static final MethodHandle FLOCK =
            LINKER.downcallHandle(symbol("flock"), FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), CAPTURE);
    private static final MethodHandle LINKAT = LINKER.downcallHandle(
            symbol("linkat"), FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_INT), CAPTURE);
    private static final MethodHandle FALLOCATE = LINKER.downcallHandle(
            symbol("posix_fallocate"), FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle TRUNCATE =
            LINKER.downcallHandle(symbol("ftruncate"), FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG), CAPTURE);

    private Posix() {}

    /** A file without a name in {@code directory}, readable by its owner only. */
    static int openUnnamed(String directory) {
        return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC);
    }

    static int open(String path) {
        return open(path, O_RDWR | O_CLOEXEC);
    }

    private static int open(String path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            int fd = (int) OPEN.invokeExact(state, arena.allocateFrom(path), flags, OWNER_ONLY);
            return fd >= 0 ? fd : errno(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    static int close(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            return (int) CLOSE.invokeExact(state, fd) == 0 ? 0 : errno(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Locks without waiting. The lock belongs to the open file, so it also holds between ranks of one process. */
    static int lock(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            return (int) FLOCK.invokeExact(state, fd, LOCK_EXCLUSIVE_NOW) == 0 ? 0 : errno(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Gives an unnamed file its name; never replaces another. */
    static int link(int fd, String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            MemorySegment from = arena.allocateFrom("/proc/self/fd/" + fd);
            int result = (int)
                    LINKAT.invokeExact(state, AT_FDCWD, from, AT_FDCWD, arena.allocateFrom(path), AT_SYMLINK_FOLLOW);
            return result == 0 ? 0 : errno(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Sets the file's length; what is new of it takes no space yet. */
    static int setLength(int fd, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            return (int) TRUNCATE.invokeExact(state, fd, bytes) == 0 ? 0 : errno(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Allocates space really, so that later writes cannot fail. */
    static int allocate(int fd, long offset, long bytes) {
        try {
            int error;
            do {
                error = (int) FALLOCATE.invokeExact(fd, offset, bytes);
            } while (error == EINTR);
            return -error;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static int errno(MemorySegment state) {
        return -(int) ERRNO.get(state, 0L);
    }

    private static MemorySegment symbol(String name) {
        return LINKER.defaultLookup().findOrThrow(name);
    }
}
