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
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** {@code jrun init}: writes a project of Maven or of Gradle that depends on this version of jrun. */
final class InitCommand {
    private static final String MAIN = "src/main/java/com/example/Train.java";

    private InitCommand() {}

    /** The program of the project. */
    enum Shape {
        /** A loop with DistributedDataParallel. */
        DDP("Train.java", "jrun-parallel", ""),
        /** A loop in which the ranks share states and layers. */
        MESH("mesh/Train.java", "jrun-parallel", ""),
        /** A model and one call of the trainer. */
        TRAINER("trainer/Train.java", "jrun-trainer", " --tiny");

        private final String program;
        private final String module;
        private final String arguments;

        Shape(String program, String module, String arguments) {
            this.program = program;
            this.module = module;
            this.arguments = arguments;
        }

        /**
         * The shape that the command line names.
         *
         * @throws UsageException naming the shapes
         */
        static Shape of(Optional<String> word) {
            return word.isEmpty()
                    ? DDP
                    : Stream.of(values())
                            .filter(shape ->
                                    shape.name().toLowerCase(Locale.ROOT).equals(word.get()))
                            .findFirst()
                            .orElseThrow(() -> new UsageException(
                                    "init: --shape is '" + word.get() + "', expected ddp, mesh or trainer."));
        }
    }

    /**
     * Installs the jars of jrun in the local repository, and writes the project. Returns the next steps.
     *
     * @param shape of the program
     * @param repository of the user's Maven, from which both Maven and Gradle take jrun
     * @throws UsageException with one line for the user, if the folder is in use, or a file cannot be written
     */
    static String run(Path folder, Shape shape, boolean gradle, Path home, LocalRepository repository)
            throws IOException {
        requireEmpty(folder);
        String artifact = artifactName(folder);
        repository.install(home);
        List<String> files = gradle
                ? List.of("build.gradle.kts", "settings.gradle.kts", "gitignore", shape.program)
                : List.of("pom.xml", "gitignore", shape.program);
        try {
            for (String file : files) {
                String name = file.equals("gitignore") ? ".gitignore" : file;
                Path target = folder.resolve(file.equals(shape.program) ? MAIN : name);
                Files.createDirectories(Objects.requireNonNull(target.getParent()));
                Files.writeString(
                        target,
                        template(file)
                                .replace("@name@", artifact)
                                .replace("@module@", shape.module)
                                .replace("@version@", Version.TEXT));
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
                + "  jrun --nproc-per-node=2 " + (gradle ? "build/libs/" : "target/") + artifact + ".jar"
                + shape.arguments;
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
