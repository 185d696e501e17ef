package io.jrun.launcher;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code jrun init}: writes a Maven project that compiles against the jars of this installation. */
final class InitCommand {
    private static final Pattern PYTORCH_JAR = Pattern.compile("pytorch-(\\d+(?:\\.\\d+)*-\\d+(?:\\.\\d+)*)\\.jar");

    private InitCommand() {}

    /**
     * Writes the project. Returns the next steps.
     *
     * @throws UsageException with one line for the user, if the folder is in use or cannot be written
     */
    static String run(Path folder, Path home) throws IOException {
        requireEmpty(folder);
        String name = artifactName(folder);
        String pom = template("pom.xml")
                .replace("@name@", name)
                .replace("@home@", xml(home.toString()))
                .replace("@version@", Version.TEXT)
                .replace("@pytorch@", pytorchVersion(home));
        try {
            Path sources = Files.createDirectories(folder.resolve("src/main/java/com/example"));
            Files.writeString(sources.resolve("Train.java"), template("Train.java"));
            Files.writeString(folder.resolve(".gitignore"), template("gitignore"));
            Files.writeString(folder.resolve("pom.xml"), pom);
        } catch (IOException e) {
            throw new UsageException(
                    "init: the project cannot be written to " + folder + ": " + FileError.reason(e, folder) + ".");
        }
        return "made a project in " + folder + "; build and run it:\n"
                + "  cd " + shellWord(folder.toString()) + "\n"
                + "  mvn package\n"
                + "  jrun --nproc-per-node=2 target/" + name + ".jar";
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

    /** Returns the version of libtorch's bindings in this installation. */
    private static String pytorchVersion(Path home) throws IOException {
        try (Stream<Path> jars = Files.list(home.resolve("lib/runtime"))) {
            return jars.map(jar -> PYTORCH_JAR.matcher(jar.getFileName().toString()))
                    .filter(Matcher::matches)
                    .map(match -> match.group(1))
                    .findFirst()
                    .orElseThrow(() -> new UsageException(
                            "init: the installation in " + home + " has no lib/runtime/pytorch-VERSION.jar."));
        }
    }

    private static String template(String file) throws IOException {
        try (InputStream in = Objects.requireNonNull(InitCommand.class.getResourceAsStream("init/" + file))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String shellWord(String text) {
        return text.matches("[A-Za-z0-9/._-]+") ? text : "'" + text.replace("'", "'\\''") + "'";
    }

    private static String xml(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
