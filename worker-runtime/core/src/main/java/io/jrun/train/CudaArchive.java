package io.jrun.train;

import io.jrun.comm.cuda.CudaLibraries;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * The jar with libtorch's CUDA build, which {@code jrun cuda install} fetches. The jar lies in {@code lib/cuda} of the
 * installation, or in the cache of the user, in the folder {@code jrun/cuda-VERSION}. It is on no class path: two
 * builds of libtorch in one process end the process.
 *
 * @param jar an existing file
 */
record CudaArchive(Path jar) {
    /** The path of the jar, where the worker cannot see the installation and the home folder, as in a container. */
    static final String PROPERTY = "jrun.cuda.archive";

    /** The end of the name of the jar. */
    static final String GPU_SUFFIX = "-linux-x86_64-gpu.jar";

    private static final String INSIDE = "org/bytedeco/pytorch/linux-x86_64-gpu";
    private static final String UID = "unix:uid";

    /** The jar of the same version as the plain build of this process. */
    static Optional<CudaArchive> find(Map<String, String> environment) {
        String chosen = System.getProperty(PROPERTY);
        return chosen == null ? plainArchive().flatMap(plain -> find(plain, environment)) : existing(Path.of(chosen));
    }

    static Optional<CudaArchive> find(Path plain, Map<String, String> environment) {
        String name = plain.getFileName().toString().replace(Libtorch.ARCHIVE_SUFFIX, GPU_SUFFIX);
        Optional<CudaArchive> installed =
                existing(plain.resolveSibling("../cuda").resolve(name).normalize());
        return installed.isPresent()
                ? installed
                : NativeCache.userCache(environment)
                        .map(cache -> cache.resolve("jrun/cuda-" + version(name)))
                        .filter(CudaArchive::isTrusted)
                        .flatMap(folder -> existing(folder.resolve(name)));
    }

    /** pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar has the version 2.10.0-1.5.13. */
    private static String version(String name) {
        return name.substring("pytorch-".length(), name.length() - GPU_SUFFIX.length());
    }

    private static Optional<CudaArchive> existing(Path jar) {
        return Files.isRegularFile(jar) ? Optional.of(new CudaArchive(jar)) : Optional.empty();
    }

    private static Optional<Path> plainArchive() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> isArchive(entry, Libtorch.ARCHIVE_SUFFIX))
                .findFirst()
                .map(Path::of);
    }

    /** Whether an entry of a class path is a jar of the presets with this end of its name. */
    static boolean isArchive(String entry, String suffix) {
        return entry.endsWith(suffix)
                && entry.substring(entry.lastIndexOf('/') + 1).startsWith("pytorch-");
    }

    /** Whether no other user can have put code into the folder of this user or of root. */
    private static boolean isTrusted(Path folder) {
        try {
            int owner = (Integer) Files.getAttribute(folder, UID, LinkOption.NOFOLLOW_LINKS);
            Set<PosixFilePermission> mode = Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS);
            return (owner == NativeCache.ownUid() || owner == 0)
                    && Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                    && !mode.contains(PosixFilePermission.GROUP_WRITE)
                    && !mode.contains(PosixFilePermission.OTHERS_WRITE);
        } catch (IOException e) {
            return false;
        }
    }

    /** The folder for CUDA's own libraries that jrun has fetched; may be missing. */
    Path libraries() {
        return jar.resolveSibling("libraries");
    }

    /** Makes the fetched libraries known to all parts of jrun in this process. */
    void publishLibraries() {
        System.setProperty(CudaLibraries.FETCHED_PROPERTY, libraries().toString());
    }

    /** The folder for the libraries of this jar. */
    Path unpacked(Path cache) {
        return cache.resolve(jar.getFileName()).resolve(INSIDE);
    }

    /** Unpacks all libraries. The method uses one thread for each library; two of the libraries are large. */
    void unpack(Path cache) {
        Path folder = unpacked(cache);
        try (ZipFile archive = new ZipFile(jar.toFile())) {
            Files.createDirectories(folder);
            List<? extends ZipEntry> entries = archive.stream()
                    .filter(entry -> entry.getName().startsWith(INSIDE + "/")
                            && entry.getName().contains(".so")
                            && !entry.isDirectory())
                    .toList();
            try (Stream<? extends ZipEntry> parallel = entries.parallelStream()) {
                parallel.forEach(entry -> unpack(archive, entry, folder));
            }
        } catch (IOException | UncheckedIOException e) {
            throw new UncheckedIOException(failure(folder, e));
        }
    }

    private static void unpack(ZipFile archive, ZipEntry entry, Path folder) {
        String name = entry.getName().substring(INSIDE.length() + 1);
        try (InputStream in = archive.getInputStream(entry)) {
            Path part = folder.resolve(name + ".part");
            Files.copy(in, part, StandardCopyOption.REPLACE_EXISTING);
            Files.move(part, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private IOException failure(Path folder, Exception cause) {
        String repair = isDamage(cause)
                ? "The jar is damaged. Run 'jrun cuda install' again, or copy the jar there anew."
                : "It needs about 880 MB there; free space, or choose another place with"
                        + " -Dorg.bytedeco.javacpp.cachedir=DIR.";
        return new IOException(
                "cannot unpack " + jar + " into " + folder + ": " + cause.getMessage() + ". " + repair, cause);
    }

    private static boolean isDamage(Exception cause) {
        return cause instanceof ZipException || cause.getCause() instanceof ZipException;
    }
}
