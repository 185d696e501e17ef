package io.jrun.agent.node;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The folders of PATH, in which programs are looked for as a shell does.
 *
 * @param text the folders with colons between them; an empty one is {@code directory}
 * @param directory the folder from which relative folders are seen
 */
public record SearchPath(String text, Path directory) {
    /** Where a shell looks without PATH. */
    public static final String STANDARD = "/usr/bin:/bin";

    /** The PATH of {@code environment}. */
    public static SearchPath of(Map<String, String> environment, Path directory) {
        String text = environment.getOrDefault("PATH", "");
        return new SearchPath(text.isEmpty() ? STANDARD : text, directory);
    }

    /** The first executable file called {@code program}. */
    public Optional<Path> find(String program) {
        return Stream.of(text.split(":", -1))
                .map(folder -> directory.resolve(folder).resolve(program))
                .filter(SearchPath::isProgram)
                .findFirst();
    }

    /** Whether {@code path} is an executable file. */
    public static boolean isProgram(Path path) {
        return Files.isRegularFile(path) && Files.isExecutable(path);
    }
}
