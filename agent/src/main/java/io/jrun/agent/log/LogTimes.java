package io.jrun.agent.log;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;

/**
 * The times of a log file: pairs of the wall clock, in milliseconds since 1970, and the number of bytes of the log until
 * that time, both as 64-bit big-endian numbers. A pair stands before the first bytes of each second with output, so the
 * second of each byte is known. The writer is confined to one thread. An instance with the pairs of a file is immutable.
 */
public final class LogTimes {
    private static final long SECOND_MILLIS = 1000;
    private static final int PAIR_BYTES = 2 * Long.BYTES;
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final long[] millis;
    private final long[] sizes;

    private LogTimes(long[] millis, long[] sizes) {
        this.millis = millis;
        this.sizes = sizes;
    }

    /** The file with the times of {@code log}, beside it. */
    static Path fileOf(Path log) {
        return log.resolveSibling(log.getFileName() + ".times");
    }

    /**
     * The times of {@code log} until now; empty for a log file without times.
     *
     * @throws IOException if the times cannot be read
     */
    public static Optional<LogTimes> read(Path log) throws IOException {
        Path file = fileOf(log);
        if (!Files.isRegularFile(file)) {
            return Optional.empty();
        }
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
        int count = bytes.remaining() / PAIR_BYTES;
        long[] millis = new long[count];
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++) {
            millis[i] = bytes.getLong();
            sizes[i] = bytes.getLong();
        }
        return Optional.of(new LogTimes(millis, sizes));
    }

    /** Whether the times of {@code log} have grown since they were read. */
    public boolean isOutdated(Path log) throws IOException {
        try (FileChannel file = UserFile.open(fileOf(log))) {
            ByteBuffer pair = ByteBuffer.allocate(PAIR_BYTES);
            long last = file.size() / PAIR_BYTES - 1;
            if (last < 0 || file.read(pair, last * PAIR_BYTES) < PAIR_BYTES) {
                return false;
            }
            pair.flip();
            return millis.length == 0
                    || pair.getLong() != millis[millis.length - 1]
                    || pair.getLong() != sizes[sizes.length - 1];
        }
    }

    /**
     * The second in which the byte at {@code offset} of the log file was written, since 1970; empty before the first
     * pair.
     */
    public Optional<Long> secondAt(long offset) {
        int at = Arrays.binarySearch(sizes, offset);
        while (at >= 0 && at + 1 < sizes.length && sizes[at + 1] == offset) {
            at++;
        }
        int pair = at >= 0 ? at : -at - 2;
        return pair < 0 ? Optional.empty() : Optional.of(Math.floorDiv(millis[pair], SECOND_MILLIS));
    }

    /**
     * The offset of the first byte that was written in the second of {@code since}, in milliseconds since 1970, or
     * later; else the end of the file.
     */
    public long offsetAt(long since) {
        for (int i = 0; i < millis.length; i++) { // the wall clock may have been set back
            if (Math.floorDiv(millis[i], SECOND_MILLIS) >= Math.floorDiv(since, SECOND_MILLIS)) {
                return sizes[i];
            }
        }
        return Long.MAX_VALUE;
    }

    /** Writes the times of one log file. A failure ends the times, and not the log. */
    static final class TimesWriter implements AutoCloseable {
        private final Path file;
        private Optional<FileChannel> channel = Optional.empty();
        private long last = Long.MIN_VALUE; // second since 1970
        private boolean failed;

        /** Removes the times of an earlier file. */
        TimesWriter(Path log) throws IOException {
            this.file = fileOf(log);
            Files.deleteIfExists(file);
        }

        /** Notes that bytes follow at the end of a file of {@code size} bytes. */
        void note(long size) {
            long now = System.currentTimeMillis();
            long second = Math.floorDiv(now, SECOND_MILLIS);
            if (failed || second == last) {
                return;
            }
            last = second;
            try {
                if (channel.isEmpty()) {
                    channel = Optional.of(FileChannel.open(
                            file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY));
                }
                ByteBuffer pair = ByteBuffer.allocate(PAIR_BYTES);
                pair.putLong(now).putLong(size).flip();
                while (pair.hasRemaining()) {
                    channel.get().write(pair);
                }
            } catch (IOException e) {
                failed = true;
            }
        }

        /** Drops the pairs that only bytes before {@code offset} need, so the times are bounded like the log. */
        void dropBefore(long offset) {
            if (failed || channel.isEmpty()) {
                return;
            }
            Path shorter = file.resolveSibling(file.getFileName() + ".new");
            try {
                ByteBuffer pairs = ByteBuffer.wrap(Files.readAllBytes(file));
                int from = 0;
                while (from + PAIR_BYTES < pairs.limit() && pairs.getLong(from + PAIR_BYTES + Long.BYTES) <= offset) {
                    from += PAIR_BYTES;
                }
                Files.deleteIfExists(shorter);
                FileChannel kept = FileChannel.open(
                        shorter, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY);
                try {
                    pairs.position(from);
                    while (pairs.hasRemaining()) {
                        kept.write(pairs);
                    }
                    Files.move(shorter, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                } catch (IOException e) {
                    try (kept) {
                        Files.deleteIfExists(shorter);
                    }
                    throw e;
                }
                FileChannel replaced = channel.get();
                channel = Optional.of(kept);
                replaced.close();
            } catch (IOException e) {
                failed = true;
            }
        }

        @Override
        public void close() throws IOException {
            if (channel.isPresent()) {
                channel.get().close();
            }
        }
    }
}
