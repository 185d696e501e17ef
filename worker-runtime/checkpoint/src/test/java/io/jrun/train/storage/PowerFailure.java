package io.jrun.train.storage;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Ends the process at one operation of a {@link FaultyFileSystem}. Files that were written and not fsynced then lose
 * the second half of their bytes, as in a power failure. Thread-safe: the operations of all ranks of the process count.
 */
public final class PowerFailure {
    /** The exit code of a process that was killed. */
    public static final int KILLED = 137;

    private final long at;
    private final Set<Path> unsynced = new HashSet<>();
    private final List<String> log = new ArrayList<>();
    private long operations;

    /** @param at the number of the operation at which the process dies, from 1 on; 0 for none */
    public PowerFailure(long at) {
        this.at = at;
    }

    /** Operations so far. */
    public synchronized long operations() {
        return operations;
    }

    /** The operations in their order, such as {@code rename to FILE} and {@code fsync FOLDER}. */
    public synchronized List<String> log() {
        return List.copyOf(log);
    }

    synchronized void step(String what) {
        operations++;
        log.add(what);
        if (operations == at) {
            System.out.println("killed at operation " + at + ": " + what);
            System.out.flush();
            unsynced.forEach(PowerFailure::lose);
            Runtime.getRuntime().halt(KILLED);
        }
    }

    synchronized void written(Path file) {
        unsynced.add(file);
    }

    synchronized void synced(Path file) {
        unsynced.remove(file);
    }

    synchronized void renamed(Path source, Path target) {
        if (unsynced.remove(source)) {
            unsynced.add(target);
        }
    }

    private static void lose(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() / 2);
        } catch (IOException _) {
            return; // the file was deleted
        }
    }
}
