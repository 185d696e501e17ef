package io.jrun.comm.file;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;

/**
 * A file that is open for reading with O_DIRECT, for a native library that reads the file by its descriptor. The JDK
 * opens such a file too, but does not give the descriptor. The functions are linked at the first file only. Thread-safe.
 */
public final class DirectFile implements AutoCloseable {
    /** Offsets, lengths and addresses of reads with O_DIRECT are multiples of this number of bytes on each file system. */
    public static final int ALIGNMENT = 4096;

    private static final int O_RDONLY = 0;
    private static final int O_CLOEXEC = 0x80000;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle OPEN = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("open"),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
            Linker.Option.firstVariadicArg(2),
            Linker.Option.captureCallState("errno"));
    private static final MethodHandle CLOSE = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final int descriptor;

    private DirectFile(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * Opens a file.
     *
     * @throws IOException if the file cannot be opened, such as on a file system without O_DIRECT
     */
    public static DirectFile open(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            int opened =
                    (int) OPEN.invokeExact(state, arena.allocateFrom(file.toString()), O_RDONLY | O_CLOEXEC | direct());
            if (opened < 0) {
                int errno = (int) ERRNO.get(state, 0L);
                throw new FileSystemException(
                        file.toString(), null, "open with O_DIRECT: " + SystemErrors.words(errno));
            }
            return new DirectFile(opened);
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("open throws nothing", e);
        }
    }

    /** The value of O_DIRECT differs between processor architectures. Source: the kernel's fcntl.h of each architecture. */
    private static int direct() {
        return System.getProperty("os.arch").equals("aarch64") ? 0x10000 : 0x4000;
    }

    /** The descriptor, valid until {@link #close}. */
    public int descriptor() {
        return descriptor;
    }

    /** The identity of the file, equal to {@link #keyOf} of a path to this file. */
    public String key() throws IOException {
        return keyOf(Path.of("/proc/self/fd/" + descriptor));
    }

    /**
     * The identity of the file that has a path now: its file system and its number there. No other file has the number
     * while the file is open. Throws like {@link UserFile#open}.
     */
    public static String keyOf(Path file) throws IOException {
        UserFile.requireRegular(file);
        return Objects.requireNonNull(
                        Files.readAttributes(file, BasicFileAttributes.class).fileKey(), "files on Linux have keys")
                .toString();
    }

    @Override
    public void close() {
        try {
            int _ = (int) CLOSE.invokeExact(descriptor);
        } catch (Throwable e) {
            throw new IllegalStateException("close throws nothing", e);
        }
    }
}
