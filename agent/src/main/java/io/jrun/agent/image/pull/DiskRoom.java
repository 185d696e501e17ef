package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The bytes that one image may take. A small layer can unpack to any number of bytes and files. The image may take the
 * bytes of {@value #VARIABLE}, and must leave a twentieth of the disk free for other programs. Confined to one thread.
 */
final class DiskRoom {
    /** The variable with the limit of unpacked bytes. */
    static final String VARIABLE = "JRUN_IMAGE_LIMIT";

    private static final Pattern SIZE = Pattern.compile("([0-9]{1,6}(?=[kKmMgGtT])|[0-9]{1,18})([kKmMgGtT]?)");
    private static final int TEN_BITS = 10;

    /** The part of the disk that stays free. */
    private static final int RESERVED_PART = 20;

    /** The bytes of a disk's block. Each file, folder and link counts as one block. */
    private static final long BLOCK = 4096;

    /** The bytes between two looks at the disk. */
    private static final long CHECK_BYTES = 16 << 20;

    private final FileStore disk;
    private final long limit;
    private long taken;
    private long unchecked;

    /** The image is larger than the limit. The message says why and what to do. */
    static final class LimitException extends IOException {
        private static final long serialVersionUID = 1L;

        LimitException(String message) {
            super(message);
        }
    }

    /** The disk has too little room. */
    static final class FullException extends IOException {
        private static final long serialVersionUID = 1L;

        FullException(String message) {
            super(message);
        }
    }

    /**
     * @param folder a folder on the disk
     * @param limit in bytes
     */
    DiskRoom(Path folder, long limit) throws IOException {
        this.disk = Files.getFileStore(folder);
        this.limit = limit;
    }

    /**
     * Reads the limit of {@value #VARIABLE}, in bytes or as 40G; without the variable no limit but the disk's.
     *
     * @throws ContainerException if the variable is no size
     */
    static long limit(Map<String, String> environment) throws ContainerException {
        String text = environment.getOrDefault(VARIABLE, "");
        if (text.isEmpty()) {
            return Long.MAX_VALUE;
        }
        Matcher size = SIZE.matcher(text);
        if (!size.matches()) {
            throw new ContainerException(
                    VARIABLE + "=" + text + " is not a size; give bytes, or a number with K, M, G or" + " T, as 40G");
        }
        long bytes = Long.parseLong(size.group(1));
        String unit = size.group(2).toLowerCase(Locale.ROOT);
        if (unit.isEmpty()) {
            return bytes;
        }
        return bytes << (TEN_BITS * ("kmgt".indexOf(unit) + 1));
    }

    /** Counts a file, a folder or a link. */
    void takeEntry() throws IOException {
        take(BLOCK);
    }

    /** Counts bytes before they are written. */
    void take(long bytes) throws IOException {
        taken += bytes;
        unchecked += bytes;
        if (taken > limit) {
            throw new LimitException("its files have more than " + TransferProgress.size(limit) + ", the limit of "
                    + VARIABLE + "; raise the limit if you trust the image");
        }
        if (unchecked >= CHECK_BYTES) {
            check(0);
        }
    }

    /**
     * Looks at the disk.
     *
     * @param bytes that follow
     */
    void check(long bytes) throws IOException {
        unchecked = 0;
        long reserve = disk.getTotalSpace() / RESERVED_PART;
        long free = disk.getUsableSpace();
        if (free - reserve < bytes) {
            throw new FullException(TransferProgress.size(free) + " are free, of which a twentieth of the disk ("
                    + TransferProgress.size(reserve) + ") stays free");
        }
    }
}
