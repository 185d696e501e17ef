package io.jrun.launcher.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The version of a JDK, as its own {@code release} file tells it: nothing has to be started.
 *
 * @param text as written there: "17.0.13"
 */
record JdkVersion(int feature, String text) {
    /** The oldest whose JVM reads jrun's classes. */
    static final int NEEDED = 25;

    private static final Pattern LINE = Pattern.compile("JAVA_VERSION=\"((\\d{1,4})[^\"]*)\"");

    /** The version of the JDK in {@code home}, if it says. */
    static Optional<JdkVersion> of(Path home) {
        try (Stream<String> lines = Files.lines(home.resolve("release"), StandardCharsets.ISO_8859_1)) {
            return lines.map(LINE::matcher)
                    .filter(Matcher::matches)
                    .map(line -> new JdkVersion(Integer.parseInt(line.group(2)), line.group(1)))
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    boolean isTooOld() {
        return feature < NEEDED;
    }
}
