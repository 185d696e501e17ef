package io.jrun.agent.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The {@code release} file of a JDK. It tells the version without a start of the JVM.
 *
 * @param version the value of JAVA_VERSION, "17.0.13"; empty if missing
 * @param modules the value of MODULES, names with spaces between them; empty if missing
 */
public record JdkRelease(String version, String modules) {
    /** The oldest Java version whose JVM runs jrun's classes. */
    public static final int NEEDED = 25;

    private static final int MAX_DIGITS = 4;

    /** The release of the JDK in {@code home}; empty without a readable file. */
    public static Optional<JdkRelease> of(Path home) {
        return read(home.resolve("release"));
    }

    /** Reads a release file; empty if the file cannot be read. */
    public static Optional<JdkRelease> read(Path file) {
        String version = "";
        String modules = "";
        try {
            for (String line : Files.readAllLines(file, StandardCharsets.ISO_8859_1)) {
                if (line.startsWith("JAVA_VERSION=")) {
                    version = value(line);
                } else if (line.startsWith("MODULES=")) {
                    modules = value(line);
                }
            }
            return Optional.of(new JdkRelease(version, modules));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static String value(String line) {
        String text = line.substring(line.indexOf('=') + 1).strip();
        boolean isQuoted = text.length() > 1 && text.startsWith("\"") && text.endsWith("\"");
        return isQuoted ? text.substring(1, text.length() - 1) : text;
    }

    /** The feature release: 17 for "17.0.13". 0 if the version is missing or not a number. */
    public int feature() {
        int end = 0;
        while (end < version.length() && end < MAX_DIGITS && Character.isDigit(version.charAt(end))) {
            end++;
        }
        return end == 0 ? 0 : Integer.parseInt(version.substring(0, end));
    }

    /** Whether the JDK lists its modules and {@code module} is not one of them. */
    public boolean lacks(String module) {
        return !modules.isEmpty() && !(" " + modules + " ").contains(" " + module + " ");
    }
}
