package io.jrun.comm.file;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The types of files that Linux has. */
public enum FileType {
    REGULAR("a file"),
    FOLDER("a folder"),
    PIPE("a pipe"),
    SOCKET("a socket"),
    DEVICE("a device");

    private static final int TYPE_BITS = 0170000;

    private final String words;

    FileType(String words) {
        this.words = words;
    }

    /** The type in errors, for example {@code a folder}. */
    public String words() {
        return words;
    }

    /**
     * The type of a file. Links are followed.
     *
     * @throws NoSuchFileException if there is nothing of this name
     * @throws IOException if the file cannot be looked at; also for a link to a file that does not exist
     */
    public static FileType of(Path file) throws IOException {
        try {
            return switch ((Integer) Files.getAttribute(file, "unix:mode") & TYPE_BITS) {
                case 0100000 -> REGULAR;
                case 0040000 -> FOLDER;
                case 0010000 -> PIPE;
                case 0140000 -> SOCKET;
                default -> DEVICE;
            };
        } catch (NoSuchFileException e) {
            if (Files.isSymbolicLink(file)) { // not exists: the file may have come into being since
                throw new FileSystemException(file.toString(), null, "it is a link to a file that does not exist");
            }
            throw e;
        }
    }
}
