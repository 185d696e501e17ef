package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.file.SystemErrors;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * A piece of shared memory: a mapped file in /dev/shm. A file gets its name only when it is complete: of full size,
 * zeroed, mode 0600, and locked. Every process that keeps the file open holds the lock, so that {@link SegmentSweeper}
 * can distinguish a used file from a leftover. Memory is used only after its space was allocated: a full /dev/shm is
 * then an error, and not a crash later.
 */
final class Segment implements AutoCloseable {
    static final Path DIRECTORY = Path.of("/dev/shm");
    private static final int NO_FILE = -1;
    private static final int RESERVED_PART = 8;

    private final Path path;
    private final Arena arena;
    private final MemorySegment memory;
    private final boolean creator;
    private int file;

    private Segment(Path path, Arena arena, MemorySegment memory, boolean creator, int file) {
        this.path = path;
        this.arena = arena;
        this.memory = memory;
        this.creator = creator;
        this.file = file;
    }

    /**
     * Creates the file. Returns an empty value if there is a file of that name.
     *
     * @param reserved number of first bytes whose space is allocated now; {@link #reserve} allocates the rest
     * @throws CommException SYSTEM with the sizes if /dev/shm has too little room
     */
    static Optional<Segment> create(String name, long bytes, long reserved) {
        Path path = DIRECTORY.resolve(name);
        int file = checked(SystemCalls.openUnnamed(DIRECTORY.toString()), "create", name);
        boolean named = false;
        boolean done = false;
        try {
            checked(SystemCalls.lockShared(file), "lock", name);
            checked(SystemCalls.setLength(file, bytes), "size", name);
            allocate(file, 0, reserved);
            int linked = SystemCalls.link(file, path.toString());
            if (linked == -SystemCalls.EEXIST) {
                return Optional.empty();
            }
            named = checked(linked, "name", name) == 0;
            Segment segment = map(path, bytes, true, file);
            done = true;
            return Optional.of(segment);
        } finally {
            if (!done) {
                if (named) {
                    remove(path);
                }
                SystemCalls.close(file);
            }
        }
    }

    /** Maps a file that another rank has created. Returns an empty value if there is no file of that name. */
    static Optional<Segment> open(String name, long bytes) {
        Path path = DIRECTORY.resolve(name);
        int file = SystemCalls.open(path.toString());
        if (file == -SystemCalls.ENOENT) {
            return Optional.empty();
        }
        if (SystemCalls.lockShared(checked(file, "open", name)) < 0) {
            SystemCalls.close(file); // The file is a leftover, and another process removes it now.
            return Optional.empty();
        }
        boolean mapped = false;
        try {
            Segment segment = map(path, bytes, false, file);
            mapped = true;
            return Optional.of(segment);
        } finally {
            if (!mapped) {
                SystemCalls.close(file);
            }
        }
    }

    long address() {
        return memory.address();
    }

    MemorySegment memory() {
        return memory;
    }

    /**
     * Allocates space for a part that {@link #create} did not reserve.
     *
     * @throws CommException SYSTEM with the sizes if /dev/shm has too little room
     */
    void reserve(long offset, long bytes) {
        allocate(file, offset, bytes);
    }

    /** Removes the name. Existing mappings stay valid. Harmless if another process has removed the name. */
    void unlink() {
        remove(path);
    }

    /** Removes a name that a rank may have left behind. */
    static void remove(String name) {
        remove(DIRECTORY.resolve(name));
    }

    private static void remove(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot remove " + path + ": " + e.getMessage(), e);
        }
    }

    /** Closes the file, and so releases the lock. The mapping stays. For segments whose name is removed. */
    void closeFile() {
        if (file != NO_FILE) {
            SystemCalls.close(file);
            file = NO_FILE;
        }
    }

    /** Unmaps the segment. A creator that has not closed the file also removes its name. */
    @Override
    public void close() {
        arena.close();
        if (creator && file != NO_FILE) {
            unlink();
        }
        closeFile();
    }

    private static Segment map(Path path, long bytes, boolean creator, int file) {
        Arena arena = Arena.ofShared();
        Path opened = Path.of("/proc/self/fd/" + file);
        try (FileChannel channel = FileChannel.open(opened, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            if (channel.size() != bytes) {
                throw new IOException("the file has " + channel.size() + " bytes (expected " + bytes + ")");
            }
            MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
            return new Segment(path, arena, memory, creator, file);
        } catch (IOException e) {
            arena.close();
            throw new CommException(ErrorCode.SYSTEM, "cannot map " + path + ": " + e.getMessage(), e);
        }
    }

    private static void allocate(int file, long offset, long bytes) {
        long free = freeBytes();
        int result = bytes > free ? -SystemCalls.ENOSPC : SystemCalls.allocate(file, offset, bytes);
        if (result == -SystemCalls.ENOSPC) {
            throw new CommException(
                    ErrorCode.SYSTEM,
                    DIRECTORY + " is full: " + bytes + " bytes of shared memory are needed, " + free
                            + " are free. Enlarge /dev/shm (docker: --shm-size; mount -o remount,size=... /dev/shm),"
                            + " or use JRUN_TRANSPORT=tcp.");
        }
        checked(result, "allocate space for", bytes + " bytes");
    }

    /** Whether an eighth of /dev/shm stays free beside {@code bytes} more bytes. */
    static boolean leavesReserve(long bytes) {
        return freeBytes() - bytes >= ofDirectory(FileStore::getTotalSpace) / RESERVED_PART;
    }

    private static long freeBytes() {
        return ofDirectory(FileStore::getUsableSpace);
    }

    private interface Size {
        long of(FileStore store) throws IOException;
    }

    private static long ofDirectory(Size size) {
        try {
            return size.of(Files.getFileStore(DIRECTORY));
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.SYSTEM, "cannot read the free space of " + DIRECTORY + ": " + e.getMessage(), e);
        }
    }

    private static int checked(int result, String action, String what) {
        if (result < 0) {
            throw new CommException(
                    ErrorCode.SYSTEM,
                    "cannot " + action + " " + what + " in " + DIRECTORY + ": " + SystemErrors.words(-result));
        }
        return result;
    }
}
