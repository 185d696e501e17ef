package io.jrun.agent.image;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Deletes a folder with its content. The method deletes links and never follows links. Stateless. */
public final class FolderDeletion {
    private FolderDeletion() {}

    /** Deletes a folder, a file or a link, if it exists. */
    public static void delete(Path path) throws IOException {
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
                for (Path file : files) {
                    delete(file);
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        Files.deleteIfExists(path);
    }
}
