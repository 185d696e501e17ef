package io.jrun.agent.log;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * The names of the files of one log. {@code stdout.log} is written. A full file has the name
 * {@code stdout.log.000000001048576}, with the offset of its first byte in the whole output, and does not change until
 * it is removed. A file begins where the file before it ends, unless somebody has removed a file. Then the name of an
 * empty full file has the offset at which {@code stdout.log} begins. Stateless.
 */
final class LogFiles {
    /** The names sort by age. */
    private static final int DIGITS = 15;

    private static final Pattern OFFSET = Pattern.compile("[0-9]{" + DIGITS + "}");

    private LogFiles() {}

    /** The name of the full file of {@code log} that begins at {@code start}. */
    static Path full(Path log, long start) {
        String digits = Long.toString(start);
        return log.resolveSibling(log.getFileName() + "." + "0".repeat(Math.max(0, DIGITS - digits.length())) + digits);
    }

    /** The offset at which {@code file} begins, if {@code file} is a full file of {@code log}. */
    private static OptionalLong startOf(String log, String file) {
        return file.length() == log.length() + 1 + DIGITS
                        && file.startsWith(log + ".")
                        && OFFSET.matcher(file.substring(log.length() + 1)).matches()
                ? OptionalLong.of(Long.parseLong(file.substring(log.length() + 1)))
                : OptionalLong.empty();
    }

    /** The offsets at which the full files of {@code log} begin, the oldest first. Empty if there is no folder. */
    static List<Long> starts(Path log) throws IOException {
        List<Long> starts = new ArrayList<>();
        String name = String.valueOf(log.getFileName());
        Path folder = Objects.requireNonNull(log.toAbsolutePath().getParent(), "a log has a folder");
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                startOf(name, String.valueOf(file.getFileName())).ifPresent(starts::add);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            // the folder does not exist yet, or is on another host
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        Collections.sort(starts);
        return starts;
    }
}
