package io.jrun.agent.worker;

import io.jrun.agent.files.PrivateFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The jar with libtorch's CUDA build, in one of the two places where the runtime of a worker looks for the jar:
 * {@code lib/cuda} of the installation, and the cache of the user. CudaArchive of the runtime has the same places.
 *
 * @param jar the path; the file may be missing
 */
public record CudaArchiveFile(Path jar) {
    /** The property of a worker's JVM with the path of the jar. */
    static final String PROPERTY = "jrun.cuda.archive";

    private static final String PLAIN = "-linux-x86_64.jar";
    private static final String PREFIX = "pytorch-";

    /** The jar in the installation. Empty if the runtime has no libtorch. */
    public static Optional<CudaArchiveFile> ofInstallation(List<Path> runtime) {
        return plain(runtime)
                .map(jar -> new CudaArchiveFile(
                        jar.resolveSibling("../cuda").resolve(name(jar)).normalize()));
    }

    /** The jar in the cache of the user with this environment. Empty if the runtime has no libtorch. */
    public static Optional<CudaArchiveFile> ofUser(List<Path> runtime, Map<String, String> environment) {
        return plain(runtime)
                .map(jar -> new CudaArchiveFile(PrivateFolder.inCacheOrTemporary(environment)
                        .resolve("cuda-" + version(jar))
                        .resolve(name(jar))));
    }

    /** The jar that a worker takes, if one exists. */
    public static Optional<CudaArchiveFile> find(List<Path> runtime, Map<String, String> environment) {
        return Stream.of(ofInstallation(runtime), ofUser(runtime, environment))
                .flatMap(Optional::stream)
                .filter(CudaArchiveFile::isPresent)
                .findFirst();
    }

    private static Optional<Path> plain(List<Path> runtime) {
        return runtime.stream()
                .filter(jar -> jar.getFileName().toString().startsWith(PREFIX)
                        && jar.getFileName().toString().endsWith(PLAIN))
                .findFirst();
    }

    private static String version(Path plain) {
        String name = plain.getFileName().toString();
        return name.substring(PREFIX.length(), name.length() - PLAIN.length());
    }

    private static String name(Path plain) {
        return PREFIX + version(plain) + "-linux-x86_64-gpu.jar";
    }

    /** The version of the presets, such as 2.10.0-1.5.13. */
    public String version() {
        String name = jar.getFileName().toString();
        return name.substring(PREFIX.length(), name.length() - "-linux-x86_64-gpu.jar".length());
    }

    /** The folder for CUDA's own libraries that jrun has fetched. */
    public Path libraries() {
        return jar.resolveSibling("libraries");
    }

    /** Whether the jar exists, and no other user can have put the jar there. */
    public boolean isPresent() {
        try {
            return PrivateFolder.exists(jar.resolveSibling("")) && Files.isRegularFile(jar);
        } catch (IOException e) {
            return false;
        }
    }
}
