package io.jrun.launcher.source;

import java.nio.file.Path;
import java.util.List;

/**
 * A compiled source file.
 *
 * @param jar the classes of the file, and of the other source files that the file uses
 * @param dependencies the jars of the {@code //DEPS} lines, with those that they need
 * @param mainClass the first class of the file
 */
public record SourceProgram(Path jar, List<Path> dependencies, String mainClass) {
    /** Copies the list. */
    public SourceProgram {
        dependencies = List.copyOf(dependencies);
    }
}
