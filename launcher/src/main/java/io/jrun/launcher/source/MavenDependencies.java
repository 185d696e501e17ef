package io.jrun.launcher.source;

import io.jrun.agent.node.SearchPath;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.source.SourceDirectives.Dependency;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Finds the jars of dependencies with Maven, by the settings of the user. Stateless. */
final class MavenDependencies {
    private static final String GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
    private static final Duration DEADLINE = Duration.ofMinutes(10);
    private static final int MAX_REASON = 300;

    private MavenDependencies() {}

    /**
     * Returns the jars of {@code dependencies} and of all that they need. Maven fetches missing jars into its local
     * repository.
     *
     * @param folder an empty folder for the files of this call
     * @throws UsageException if Maven is missing, fails, or takes longer than 10 minutes; one line
     */
    static List<Path> resolve(String name, List<Dependency> dependencies, Path folder, Map<String, String> environment)
            throws IOException, InterruptedException {
        Path maven = SearchPath.of(environment, Path.of("/"))
                .find("mvn")
                .orElseThrow(() -> new UsageException(name + " has //DEPS lines, and Maven, which finds their jars, is"
                        + " not on the PATH. Install Maven (Debian: apt install maven), or remove the lines and name"
                        + " the jars with --classpath."));
        Path pom = Files.writeString(folder.resolve("pom.xml"), pom(dependencies));
        Path classPath = folder.resolve("classpath");
        Path log = folder.resolve("maven.log");
        Process process = new ProcessBuilder(List.of(
                        "setpriv",
                        "--pdeathsig",
                        "TERM",
                        maven.toString(),
                        "-B",
                        "-q",
                        "-f",
                        pom.toString(),
                        GOAL,
                        "-Dmdep.includeScope=runtime",
                        "-Dmdep.outputFile=" + classPath))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            if (!process.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                throw failed(name, "no answer in " + DEADLINE.toMinutes() + " minutes");
            }
            if (process.exitValue() != 0) {
                throw failed(name, reason(log));
            }
        } finally {
            process.destroyForcibly();
        }
        return Stream.of(Files.readString(classPath).strip().split(File.pathSeparator, -1))
                .filter(entry -> !entry.isEmpty())
                .map(Path::of)
                .toList();
    }

    private static UsageException failed(String name, String why) {
        return new UsageException(name + ": Maven could not find the jars of the //DEPS lines: " + why);
    }

    private static String reason(Path log) throws IOException {
        String first = Files.readString(log, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith("[ERROR] "))
                .map(line -> line.substring("[ERROR] ".length()))
                .findFirst()
                .orElse("Maven printed no error");
        String cause = first.replaceFirst("^Failed to execute goal.* on project source-program: ", "")
                .replaceFirst("^Could not resolve dependencies for project [^ ]+: ", "")
                .replaceFirst(" -> \\[Help 1]$", "");
        return cause.length() > MAX_REASON ? cause.substring(0, MAX_REASON) + "..." : cause;
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
