package io.jrun.agent.node;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The folders in which a program is searched, in the order of a shell.
 *
 * @param text the folders with colons between them; an empty name means {@code directory}
 * @param directory the folder against which relative folders are resolved
 */
public record SearchPath(String text, Path directory) {
    /** The folders that a shell searches without PATH. */
    public static final String STANDARD = "/usr/bin:/bin";

    /** The PATH of {@code environment}. */
    public static SearchPath of(Map<String, String> environment, Path directory) {
        String text = environment.getOrDefault("PATH", "");
        return new SearchPath(text.isEmpty() ? STANDARD : text, directory);
    }

    /**
     * The absolute folders of PATH, then the standard folders of programs: for the programs that jrun itself starts. A
     * relative folder would depend on the folder of the job.
     */
    public static SearchPath ofTools(Map<String, String> environment) {
        StringBuilder text = new StringBuilder();
        for (String folder : environment.getOrDefault("PATH", "").split(":", -1)) {
            if (folder.startsWith("/")) {
                text.append(folder).append(':');
            }
        }
        return new SearchPath(text + STANDARD + ":/usr/sbin:/sbin", Path.of("/"));
    }

    /** The folders in their order. */
    public Stream<Path> folders() {
        return Stream.of(text.split(":", -1)).map(directory::resolve);
    }

    /** The first executable file called {@code program}. */
    public Optional<Path> find(String program) {
        return folders()
                .map(folder -> folder.resolve(program))
                .filter(SearchPath::isProgram)
                .findFirst();
    }

    /** Whether {@code path} is an executable file. */
    public static boolean isProgram(Path path) {
        return Files.isRegularFile(path) && Files.isExecutable(path);
    }
}
