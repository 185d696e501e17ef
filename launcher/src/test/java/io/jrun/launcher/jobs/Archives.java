package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The class-data archives that a user's every start but the first has. One pair serves all tests of a build and is made
 * by the first that asks: without it each JVM of each job would take up to half a second of a core more.
 */
final class Archives {
    private static final Path HOME = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));

    /** Beside the installation, where the next run on the same build finds it. */
    private static final Path SHARED = HOME.resolveSibling("test-archives");

    /** Making them takes about 5 s. */
    private static final Duration TIMEOUT = Duration.ofSeconds(100);

    private Archives() {}

    /** Links them into {@code cache}, an XDG_CACHE_HOME. */
    static synchronized void linkInto(Path cache) {
        try {
            if (fresh().isEmpty()) {
                make();
            }
            Path folder = Files.createDirectories(cache.resolve("jrun"));
            for (Path archive : fresh()) {
                link(folder.resolve(archive.getFileName()), archive);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void link(Path link, Path archive) throws IOException {
        if (Files.exists(link)) {
            return;
        }
        try {
            Files.createLink(link, archive);
        } catch (FileSystemException e) { // temporary folders lie on a file system of their own
            Files.createSymbolicLink(link, archive);
        }
    }

    /** jrun makes them in the background of a start that finds none; another test JVM may be about it already. */
    private static void make() throws IOException {
        Files.createDirectories(SHARED);
        ProcessBuilder jrun = new ProcessBuilder(JRun.SCRIPTS.resolve("jrun").toString(), "version")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        jrun.environment().remove("JRUN_NO_ARCHIVE");
        jrun.environment().put("JRUN_HOME", HOME.toString());
        jrun.environment().put("XDG_CACHE_HOME", SHARED.toString());
        jrun.start();
        JRun.waitFor(() -> !fresh().isEmpty(), TIMEOUT, () -> "archives in " + SHARED);
    }

    /** The archives made since the last change of the installation; none until the launcher's, the last, is there. */
    private static List<Path> fresh() {
        FileTime built = Stream.of("launcher", "runtime")
                .flatMap(part -> list(HOME.resolve("lib").resolve(part)))
                .map(Archives::time)
                .max(Comparator.naturalOrder())
                .orElseThrow();
        List<Path> found = list(SHARED.resolve("jrun"))
                .filter(file -> file.toString().endsWith(".jsa") && time(file).compareTo(built) > 0)
                .toList();
        boolean whole =
                found.stream().anyMatch(file -> file.getFileName().toString().startsWith("launcher-"));
        return whole ? found : List.of();
    }

    private static FileTime time(Path file) {
        try {
            return Files.getLastModifiedTime(file);
        } catch (IOException e) {
            return FileTime.fromMillis(0); // an outdated archive, just removed
        }
    }

    private static Stream<Path> list(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList().stream();
        } catch (IOException e) {
            return Stream.of(); // not made yet
        }
    }
}
