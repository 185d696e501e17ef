package io.jrun.launcher.blas;

import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.node.SearchPath;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The jars of Intel MKL for {@code --blas=mkl}, in the cache of the user. Maven fetches the jars once, by the settings
 * of the user. Immutable.
 *
 * @param folder the folder of the jars; may be missing
 */
public record MklJars(Path folder) {
    /** The option of a JVM with which the presets of OpenBLAS load MKL instead. */
    public static final String JVM_OPTION = "-Dorg.bytedeco.openblas.load=mkl_rt";

    private static final String VERSION = "2025.2-1.5.12";
    private static final String ARTIFACT = "org.bytedeco:mkl:" + VERSION;
    private static final String NATIVE = "linux-x86_64-redist";
    private static final Duration DEADLINE = Duration.ofMinutes(20);
    private static final int MAX_REASON = 300;

    /** Returns the jars of the user with this environment. */
    public static MklJars of(Map<String, String> environment) {
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        String home = environment.getOrDefault("HOME", "");
        Path base = cache.isEmpty()
                ? Path.of(home.isEmpty() ? System.getProperty("java.io.tmpdir") : home, ".cache")
                : Path.of(cache);
        return new MklJars(base.resolve("jrun/mkl-" + VERSION).toAbsolutePath());
    }

    /** The paths of the jars, for a class path. */
    public List<Path> paths() {
        return Stream.of("", "-" + NATIVE)
                .map(classifier -> folder.resolve("mkl-" + VERSION + classifier + ".jar"))
                .toList();
    }

    /** Whether all jars are in the cache, and no other user can have put them there. */
    public boolean arePresent() {
        try {
            return PrivateFolder.exists(folder.resolveSibling(""))
                    && PrivateFolder.exists(folder)
                    && paths().stream().allMatch(Files::isRegularFile);
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Fetches the jars if they are missing. Two processes may fetch at the same time: each file appears complete.
     *
     * @param environment the environment with the PATH on which Maven is
     * @param notices receives a line before and a line after the download
     * @throws UsageException if Maven is missing, fails, or takes longer than 20 minutes; one line
     */
    public void fetch(Map<String, String> environment, Consumer<String> notices)
            throws IOException, InterruptedException {
        if (arePresent()) {
            return;
        }
        Path maven = SearchPath.of(environment, Path.of("/"))
                .find("mvn")
                .orElseThrow(() -> new UsageException("--blas=mkl: " + ARTIFACT + " is not in " + folder
                        + ", and Maven, which fetches the jars, is not on the PATH. Install Maven (Debian: apt install"
                        + " maven), or put the jars there: " + names() + "."));
        notices.accept("fetching Intel MKL into " + folder + " with Maven, once (156 MB)");
        long start = System.nanoTime();
        try {
            PrivateFolder.claim(folder.resolveSibling(""));
            PrivateFolder.claim(folder);
        } catch (IOException e) {
            throw new UsageException("--blas=mkl: " + folder + " cannot be used: " + FileError.reason(e, folder) + ".");
        }
        Path download = Files.createTempDirectory(folder, "download");
        try {
            for (String classifier : List.of("", ":jar:" + NATIVE)) {
                copy(maven, ARTIFACT + classifier, download);
            }
            for (Path jar : paths()) {
                Files.move(download.resolve(jar.getFileName()), jar, StandardCopyOption.ATOMIC_MOVE);
            }
        } finally {
            delete(download);
        }
        notices.accept("fetched Intel MKL in " + (System.nanoTime() - start) / 1_000_000_000 + " s");
    }

    private void copy(Path maven, String artifact, Path target) throws IOException, InterruptedException {
        List<String> command = List.of(
                "setpriv",
                "--pdeathsig",
                "TERM",
                maven.toString(),
                "-B",
                "-q",
                "dependency:copy",
                "-Dartifact=" + artifact,
                "-DoutputDirectory=" + target);
        Path output = target.resolve("maven.log");
        Process process = new ProcessBuilder(command)
                .directory(target.toFile()) // a pom of the working directory must not matter
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!process.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                throw failed(artifact, "no answer in " + DEADLINE.toMinutes() + " minutes");
            }
            if (process.exitValue() != 0) {
                throw failed(artifact, reason(output));
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private UsageException failed(String artifact, String why) {
        return new UsageException("--blas=mkl: Maven could not fetch " + artifact + ": " + why
                + ". Without a network put the jars into " + folder + ": " + names() + ".");
    }

    private String names() {
        return String.join(
                ", ",
                paths().stream().map(path -> path.getFileName().toString()).toList());
    }

    private static String reason(Path output) throws IOException {
        String first = Files.readString(output, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith("[ERROR]"))
                .findFirst()
                .orElse("[ERROR] no message")
                .substring("[ERROR] ".length());
        return first.length() > MAX_REASON ? first.substring(0, MAX_REASON) + "..." : first;
    }

    private static void delete(Path directory) throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.list(directory)) {
            files.addAll(all.toList());
        }
        files.add(directory);
        for (Path file : files) {
            Files.deleteIfExists(file);
        }
    }
}
