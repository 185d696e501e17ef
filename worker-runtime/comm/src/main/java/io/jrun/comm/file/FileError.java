package io.jrun.comm.file;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The words of errors of files, for users. Stateless. */
public final class FileError {
    private FileError() {}

    /**
     * The reason of an error in one line of words, without the name of a Java class, for example {@code permission
     * denied}. A file other than {@code named} is named in the text.
     *
     * @param named the file that the message of the caller names already
     */
    public static String reason(Throwable e, Object named) {
        Throwable failure = withoutWrapper(e);
        String reason = reason(failure);
        String file = failure instanceof FileSystemException ofFile ? ofFile.getFile() : null;
        return file == null || file.equals(named.toString()) ? reason : printable(file) + ": " + reason;
    }

    /** Like {@link #reason(Throwable, Object)}. For messages whose text names the file in any case. */
    public static String reason(Throwable e) {
        Throwable failure = withoutWrapper(e);
        // An exception without a text has only the words of its class: EOFException is "EOF".
        String ofClass = failure.getClass().getSimpleName().replaceFirst("Exception$|Error$", "");
        return printable(
                failure instanceof FileSystemException ofFile ? words(ofFile) : orElse(failure.getMessage(), ofClass));
    }

    /** The cause of an exception that says nothing but its cause, such as UncheckedIOException. */
    private static Throwable withoutWrapper(Throwable e) {
        Throwable cause = e.getCause();
        return cause instanceof IOException && cause.toString().equals(e.getMessage()) ? withoutWrapper(cause) : e;
    }

    private static String words(FileSystemException e) {
        return switch (e) {
            case NoSuchFileException _ -> "it does not exist";
            case AccessDeniedException _ -> "permission denied";
            case FileAlreadyExistsException exists
            when isDanglingLink(exists.getFile()) -> "it is a link to a file that does not exist";
            case FileAlreadyExistsException _ -> "it exists already";
            case NotDirectoryException _ -> "it is not a folder";
            case DirectoryNotEmptyException _ -> "the folder is not empty";
            default -> orElse(e.getReason(), "the system reported no reason");
        };
    }

    private static boolean isDanglingLink(@Nullable String file) {
        Path path = Path.of(orElse(file, ""));
        return Files.isSymbolicLink(path) && !Files.exists(path);
    }

    /** One line. The name of a file may have any characters, also those with which a terminal is controlled. */
    private static String printable(String text) {
        return ControlCharacters.replaced(text.strip().replaceAll("\\s*\\R\\s*", " "));
    }

    private static String orElse(@Nullable String text, String otherwise) {
        return text == null || text.isBlank() ? otherwise : text;
    }
}
