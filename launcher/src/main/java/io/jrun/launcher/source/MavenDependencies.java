package io.jrun.launcher.source;

import io.jrun.launcher.maven.MavenFetch;
import io.jrun.launcher.source.SourceDirectives.Dependency;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Finds the jars of {@code //DEPS} lines with Maven. Stateless. */
final class MavenDependencies {
    private static final String ADVICE = "Correct the lines, or name the jars with --classpath.";

    private MavenDependencies() {}

    /**
     * Returns the jars of {@code dependencies} and of all that they need.
     *
     * @param name the source file, for messages
     * @param folder an empty folder for the files of this call
     * @param progress takes a line every five seconds
     * @throws io.jrun.launcher.job.UsageException if Maven is missing, or does not find a jar; one line
     */
    static List<Path> resolve(
            String name,
            List<Dependency> dependencies,
            Path folder,
            Map<String, String> environment,
            Consumer<String> progress)
            throws IOException, InterruptedException {
        Path pom = Files.writeString(folder.resolve("pom.xml"), pom(dependencies));
        return MavenFetch.of(environment, name, ADVICE)
                .classPath("the jars of the //DEPS lines", pom, folder, progress);
    }

    private static String pom(List<Dependency> dependencies) {
        StringBuilder pom = new StringBuilder("""
                <project xmlns="http://maven.apache.org/POM/4.0.0">
                  <modelVersion>4.0.0</modelVersion>
                  <groupId>jrun</groupId>
                  <artifactId>source-program</artifactId>
                  <version>1</version>
                  <dependencies>
                """);
        for (Dependency each : dependencies) {
            pom.append("    <dependency>\n")
                    .append(element("groupId", each.group()))
                    .append(element("artifactId", each.artifact()))
                    .append(element("version", each.version()))
                    .append(element("classifier", each.classifier()))
                    .append(element("type", each.type()))
                    .append("    </dependency>\n");
        }
        return pom.append("  </dependencies>\n</project>\n").toString();
    }

    private static String element(String name, String value) {
        return value.isEmpty() ? "" : "      <" + name + ">" + value + "</" + name + ">\n";
    }
}
