package io.jrun.launcher.cli;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * The settings of a runnable jar. {@code java -jar} applies them by itself. jrun needs {@code -cp} to put its runtime
 * first, so jrun converts the settings to options.
 *
 * @param classPath jars and folders of Class-Path, absolute
 * @param options {@code --add-opens}, {@code --add-exports} and {@code --enable-native-access}
 */
record JarManifest(Optional<String> mainClass, List<String> classPath, List<String> options) {
    static final JarManifest NONE = new JarManifest(Optional.empty(), List.of(), List.of());

    /** Reads the manifest of {@code jar}. */
    static JarManifest read(Path jar) throws IOException {
        UserFile.requireRegular(jar);
        try (JarFile file = new JarFile(jar.toFile(), false)) {
            Manifest manifest = file.getManifest();
            return manifest == null ? NONE : of(manifest.getMainAttributes(), jar);
        }
    }

    private static JarManifest of(Attributes attributes, Path jar) {
        List<String> options = new ArrayList<>();
        for (String opened : words(attributes, "Add-Opens")) {
            options.add("--add-opens=" + opened + "=ALL-UNNAMED");
        }
        for (String exported : words(attributes, "Add-Exports")) {
            options.add("--add-exports=" + exported + "=ALL-UNNAMED");
        }
        for (String module : words(attributes, "Enable-Native-Access")) {
            options.add("--enable-native-access=" + module);
        }
        List<String> classPath = new ArrayList<>();
        for (String entry : words(attributes, "Class-Path")) {
            classPathEntry(jar, entry).ifPresent(classPath::add);
        }
        return new JarManifest(
                Optional.ofNullable(attributes.getValue(Attributes.Name.MAIN_CLASS))
                        .map(String::strip),
                classPath,
                options);
    }

    private static List<String> words(Attributes attributes, String name) {
        String value = attributes.getValue(name);
        return value == null || value.isBlank()
                ? List.of()
                : List.of(value.strip().split(" +"));
    }

    /**
     * Resolves Class-Path entries, URLs relative to the jar. Ignores other URLs than files, as {@code java -jar} does.
     */
    private static Optional<String> classPathEntry(Path jar, String entry) {
        try {
            URI uri = jar.toUri().resolve(entry);
            return "file".equals(uri.getScheme()) ? Optional.of(Path.of(uri).toString()) : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
