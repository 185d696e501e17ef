package io.jrun.launcher.cli;

import java.nio.file.Files;
import java.nio.file.Path;

/** Names the part of a path that does not exist. Stateless. */
final class MissingPath {
    private MissingPath() {}

    /** "no such file", or which of the folders above {@code file} is the first that does not exist. */
    static String words(Path file) {
        return words(file, "no such file");
    }

    /** @param otherwise the text if the folder of {@code path} exists */
    static String words(Path path, String otherwise) {
        Path missing = path;
        for (Path above = path.getParent(); above != null && !Files.exists(above); above = above.getParent()) {
            missing = above;
        }
        if (missing.equals(path)) {
            Path folder = path.getParent();
            return folder == null || Files.isDirectory(folder) ? otherwise : folder + " is a file, not a folder";
        }
        return "the folder " + missing + " does not exist";
    }
}
