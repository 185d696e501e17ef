package io.jrun.launcher;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.maven.LocalRepository;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** {@code jrun init}: writes a project of Maven or of Gradle that depends on this version of jrun. */
final class InitCommand {
    private static final String MAIN = "src/main/java/com/example/Train.java";

    private InitCommand() {}

    /**
     * Installs the jars of jrun in the local repository, and writes the project. Returns the next steps.
     *
     * @param repository of the user's Maven, from which both Maven and Gradle take jrun
     * @throws UsageException with one line for the user, if the folder is in use, or a file cannot be written
     */
    static String run(Path folder, boolean gradle, Path home, LocalRepository repository) throws IOException {
        requireEmpty(folder);
        String name = artifactName(folder);
        repository.install(home);
        List<String> files = gradle
                ? List.of("build.gradle.kts", "settings.gradle.kts", "gitignore", "Train.java")
                : List.of("pom.xml", "gitignore", "Train.java");
        try {
            for (String file : files) {
                Path target = folder.resolve(
                        switch (file) {
                            case "gitignore" -> ".gitignore";
                            case "Train.java" -> MAIN;
                            default -> file;
                        });
                Files.createDirectories(Objects.requireNonNull(target.getParent()));
                Files.writeString(target, template(file).replace("@name@", name).replace("@version@", Version.TEXT));
            }
        } catch (IOException e) {
            throw new UsageException(
                    "init: the project cannot be written to " + folder + ": " + FileError.reason(e, folder) + ".");
        }
        return "installed the jars of jrun " + Version.TEXT + " in " + repository.folder()
                + ", the local repository of Maven\n"
                + "made a project in " + folder + "; build and run it:\n"
                + "  cd " + shellWord(folder.toString()) + "\n"
                + (gradle ? "  gradle jar\n" : "  mvn package\n")
                + "  jrun --nproc-per-node=2 " + (gradle ? "build/libs/" : "target/") + name + ".jar";
    }

    private static void requireEmpty(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        if (!Files.isDirectory(folder)) {
            throw new UsageException("init: " + folder + " is a file; name a new or an empty folder.");
        }
        try (Stream<Path> content = Files.list(folder)) {
            if (content.findAny().isPresent()) {
                throw new UsageException("init: " + folder + " is not empty; name a new or an empty folder.");
            }
        } catch (IOException e) {
            throw new UsageException("init: " + folder + " cannot be read: " + e + ".");
        }
    }

    /** Makes an artifact name. Maven allows letters, digits, '.', '_' and '-'. */
    private static String artifactName(Path folder) {
        Path last = folder.getFileName();
        String name = last == null ? "" : last.toString().replaceAll("[^A-Za-z0-9._-]", "-");
        return name.matches(".*[A-Za-z0-9].*") ? name : "train";
    }

    private static String template(String file) throws IOException {
        try (InputStream in = Objects.requireNonNull(InitCommand.class.getResourceAsStream("init/" + file))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String shellWord(String text) {
        return text.matches("[A-Za-z0-9/._-]+") ? text : "'" + text.replace("'", "'\\''") + "'";
    }
}
