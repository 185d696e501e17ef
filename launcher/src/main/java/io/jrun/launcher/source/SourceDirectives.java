package io.jrun.launcher.source;

import io.jrun.launcher.job.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The lines of a source file that begin with {@code //DEPS}, as JBang has them.
 *
 * @param dependencies Maven coordinates {@code group:artifact:version[:classifier][@type]}, in the order of the file,
 *     without those that the runtime of the workers has
 * @param notes one line for each directive of JBang that jrun does not read
 */
record SourceDirectives(List<Dependency> dependencies, List<String> notes) {
    private static final Pattern DIRECTIVE = Pattern.compile("^//(DEPS|REPOS|SOURCES|FILES|JAVA|JAVAC_OPTIONS"
            + "|JAVA_OPTIONS|RUNTIME_OPTIONS|COMPILE_OPTIONS|NATIVE_OPTIONS|JAVAAGENT|KOTLIN|GROOVY|MAIN|MODULE|CDS"
            + "|PREVIEW|MANIFEST)\\b(.*)$");
    private static final Pattern COORDINATES =
            Pattern.compile("([\\w.-]+):([\\w.-]+):([\\w.+-]+)(?::([\\w.-]+))?(?:@([\\w.-]+))?");
    private static final String OWN_GROUP = "io.jrun";
    private static final Set<String> LIBTORCH = Set.of("pytorch", "pytorch-platform", "javacpp", "openblas");

    /** Maven coordinates; {@code classifier} and {@code type} may be empty. */
    record Dependency(String group, String artifact, String version, String classifier, String type) {
        private boolean isOfRuntime() {
            return group.equals(OWN_GROUP) || (group.equals("org.bytedeco") && LIBTORCH.contains(artifact));
        }
    }

    /**
     * Reads the directives.
     *
     * @param name the file, for messages
     * @throws UsageException if a {@code //DEPS} line has other words than coordinates
     */
    static SourceDirectives read(String name, String text) {
        List<Dependency> dependencies = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            Matcher line = DIRECTIVE.matcher(lines.get(i));
            if (!line.matches()) {
                continue;
            }
            if (!line.group(1).equals("DEPS")) {
                notes.add(name + ", line " + (i + 1) + ": jrun does not read //" + line.group(1) + ", only //DEPS");
                continue;
            }
            for (String word : line.group(2).strip().split("[\\s,;]+", -1)) {
                Dependency dependency = dependency(name, i + 1, word);
                if (!dependency.isOfRuntime()) {
                    dependencies.add(dependency);
                }
            }
        }
        return new SourceDirectives(List.copyOf(dependencies), List.copyOf(notes));
    }

    private static Dependency dependency(String name, int line, String word) {
        Matcher parts = COORDINATES.matcher(word);
        if (!parts.matches()) {
            throw new UsageException(name + ", line " + line + ": '" + word
                    + "' is no dependency. Write //DEPS group:artifact:version.");
        }
        return new Dependency(
                parts.group(1), parts.group(2), parts.group(3), orEmpty(parts.group(4)), orEmpty(parts.group(5)));
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }
}
