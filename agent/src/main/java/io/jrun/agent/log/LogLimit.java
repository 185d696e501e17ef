package io.jrun.agent.log;

/**
 * The most that one stream of one worker keeps on disk. When a file is full, the agent gives the file the name of the
 * log with the offset of its first byte, and begins a new file; the oldest file beyond {@code files} is removed.
 *
 * @param fileBytes bytes of a file, at least {@value #LEAST_BYTES}. A file ends with a whole line, unless the line is
 *     longer or its first bytes came in an earlier write
 * @param files number of files with the one that is written, from {@value #LEAST_FILES} to {@value #MOST_FILES}
 */
public record LogLimit(long fileBytes, int files) {
    /** A file has room for lines of usual length. */
    public static final int LEAST_BYTES = 4096;

    /** With one file, most of the output would be gone after each change of files. */
    public static final int LEAST_FILES = 2;

    /** Each read of a log lists the files. */
    public static final int MOST_FILES = 1000;

    /** @throws IllegalArgumentException if a number is out of its range */
    public LogLimit {
        if (fileBytes < LEAST_BYTES || files < LEAST_FILES || files > MOST_FILES) {
            throw new IllegalArgumentException(fileBytes + " bytes in each of " + files + " files");
        }
    }

    /** The line that stands in place of bytes that were removed. */
    public static String notice(long bytes) {
        return "[jrun: " + bytes + " bytes of this output are gone, by --log-limit]";
    }
}
