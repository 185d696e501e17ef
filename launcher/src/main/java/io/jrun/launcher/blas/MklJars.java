package io.jrun.launcher.blas;

import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.maven.MavenFetch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
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

    /** Returns the jars of the user with this environment. */
    public static MklJars of(Map<String, String> environment) {
        return new MklJars(PrivateFolder.inCacheOrTemporary(environment).resolve("mkl-" + VERSION));
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
     * @param notices receives a line before and a line after the download, and the progress every five seconds
     * @throws UsageException if Maven is missing, fails, or takes longer than 60 minutes; one line
     */
    public void fetch(Map<String, String> environment, Consumer<String> notices)
            throws IOException, InterruptedException {
        if (arePresent()) {
            return;
        }
        MavenFetch maven = MavenFetch.of(
                environment,
                "--blas=mkl",
                "Without a network put the jars into " + folder + ": " + MavenFetch.names(paths()) + ".");
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
                maven.copy(ARTIFACT + classifier, download, notices);
            }
            for (Path jar : paths()) {
                Files.move(download.resolve(jar.getFileName()), jar, StandardCopyOption.ATOMIC_MOVE);
            }
        } finally {
            FolderDeletion.delete(download);
        }
        notices.accept("fetched Intel MKL in " + (System.nanoTime() - start) / 1_000_000_000 + " s");
    }
}
