package io.jrun.launcher.maven;

import io.jrun.agent.node.SearchPath;
import io.jrun.launcher.job.UsageException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Fetches artifacts with Maven, by the settings of the user. Reports the progress every five seconds.
 *
 * @param maven the program
 * @param what the command or option that needs the artifacts; each error begins with it
 * @param advice the end of each error: what to do without a network
 */
public record MavenFetch(Path maven, String what, String advice) {
    private static final Duration DEADLINE = Duration.ofMinutes(60);
    private static final Duration EVERY = Duration.ofSeconds(5);
    private static final int MAX_REASON = 300;

    /** Maven remembers for a day that a repository does not have an artifact; with this option it asks again. */
    private static final String ASK_AGAIN = "--update-snapshots";

    private static final String BUILD_CLASSPATH =
            "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";

    /** Maven's line about the transfers under way: Progress (1): 12/458 MB. */
    private static final Pattern PROGRESS = Pattern.compile("Progress \\(\\d+\\): (?:\\S*\\.jar \\()?([^\\r\\n)|]+)");

    /**
     * Finds Maven on the PATH.
     *
     * @throws UsageException if Maven is missing; one line
     */
    public static MavenFetch of(Map<String, String> environment, String what, String advice) {
        Path maven = SearchPath.of(environment, Path.of("/"))
                .find("mvn")
                .orElseThrow(() -> new UsageException(
                        what + ": Maven, which fetches the jars, is not on the PATH. Install Maven (Debian: apt install"
                                + " maven). " + advice));
        return new MavenFetch(maven, what, advice);
    }

    /**
     * Copies one artifact.
     *
     * @param artifact group:name:version, or group:name:version:jar:classifier
     * @param target an empty folder of this command alone, for the jar and Maven's log
     * @throws UsageException if Maven fails, or takes longer than 60 minutes; one line
     */
    public void copy(String artifact, Path target, Consumer<String> progress) throws IOException, InterruptedException {
        run(
                artifact,
                List.of("dependency:copy", "-Dartifact=" + artifact, "-DoutputDirectory=" + target),
                target,
                progress);
    }

    /**
     * Finds the jars of the dependencies of a pom, with all that they need. Maven fetches missing jars into its local
     * repository.
     *
     * @param jars the jars in words, for errors and progress
     * @param target an empty folder of this command alone, for Maven's files
     * @throws UsageException if Maven fails, or takes longer than 60 minutes; one line
     */
    public List<Path> classPath(String jars, Path pom, Path target, Consumer<String> progress)
            throws IOException, InterruptedException {
        Path found = target.resolve("classpath");
        run(
                jars,
                List.of(
                        "-f",
                        pom.toString(),
                        ASK_AGAIN,
                        BUILD_CLASSPATH,
                        "-Dmdep.includeScope=runtime",
                        "-Dmdep.outputFile=" + found),
                target,
                progress);
        return Stream.of(Files.readString(found).strip().split(File.pathSeparator, -1))
                .filter(entry -> !entry.isEmpty())
                .map(Path::of)
                .toList();
    }

    private void run(String artifact, List<String> goal, Path target, Consumer<String> progress)
            throws IOException, InterruptedException {
        Path log = target.resolve("maven.log");
        List<String> command =
                new ArrayList<>(List.of("setpriv", "--pdeathsig", "TERM", maven.toString(), "-Dstyle.color=never"));
        command.addAll(goal);
        Process process = new ProcessBuilder(command)
                .directory(target.toFile()) // a pom of the working directory must not matter
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            long begin = System.nanoTime();
            while (!process.waitFor(EVERY.toMillis(), TimeUnit.MILLISECONDS)) {
                long seconds = Duration.ofNanos(System.nanoTime() - begin).toSeconds();
                if (seconds > DEADLINE.toSeconds()) {
                    throw failed(artifact, "no end within " + DEADLINE.toMinutes() + " minutes");
                }
                progress.accept("fetching " + artifact + ": "
                        + transferred(Files.readString(log, StandardCharsets.UTF_8)) + seconds + " s so far");
            }
            if (process.exitValue() != 0) {
                throw failed(artifact, reason(log));
            }
        } finally {
            process.destroyForcibly();
        }
    }

    /** The last progress that Maven has reported, with a comma; empty before the first report. */
    static String transferred(String log) {
        String last = "";
        Matcher matcher = PROGRESS.matcher(log);
        while (matcher.find()) {
            last = matcher.group(1).strip() + ", ";
        }
        return last;
    }

    private UsageException failed(String artifact, String why) {
        return new UsageException(what + ": Maven could not fetch " + artifact + ": " + why + ". " + advice);
    }

    private static String reason(Path output) throws IOException {
        String first = Files.readString(output, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith("[ERROR]"))
                .findFirst()
                .orElse("[ERROR] no message")
                .substring("[ERROR] ".length())
                .replaceFirst("^Failed to execute goal.* on project [^ ]+: ", "")
                .replaceFirst("^Could not resolve dependencies for project [^ ]+: ", "")
                .replaceFirst("( -> \\[Help 1])?\\.?$", "");
        return first.length() > MAX_REASON ? first.substring(0, MAX_REASON) + "..." : first;
    }

    /** The names of these files, as a list for the user. */
    public static String names(List<Path> files) {
        return String.join(
                ", ", files.stream().map(path -> path.getFileName().toString()).toList());
    }
}
