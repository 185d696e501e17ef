package io.jrun.launcher.cuda;

import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.agent.node.UserId;
import io.jrun.agent.worker.CudaArchiveFile;
import io.jrun.agent.worker.NativeLibraries;
import io.jrun.comm.cuda.CudaBuildJar;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.TemporaryFolder;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.maven.MavenFetch;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The files of {@code jrun cuda}: the jar of libtorch's CUDA build, in one of its two places, and CUDA's own libraries
 * beside it. Immutable.
 *
 * @param archive the jar; may be missing
 * @param isShared whether the place is the installation, which all users share
 */
public record CudaFiles(CudaArchiveFile archive, boolean isShared) {
    private static final String WHAT = "cuda install";
    private static final String GROUP = "org.bytedeco:";
    /** The beginning of the names of folders that a stopped download leaves. */
    private static final String PART = "download";

    private static final String LIBRARIES_VERSION = "13.1-9.19-1.5.13";
    private static final String LIBRARIES_FOLDER = "org/bytedeco/cuda/linux-x86_64/";

    /** The presets have CUDA's own libraries in these artifacts. */
    private static final List<String> LIBRARIES = List.of(
            "cuda-redist",
            "cuda-redist-cublas",
            "cuda-redist-cudnn",
            "cuda-redist-cusolver",
            "cuda-redist-cusparse",
            "cuda-redist-nccl");

    /** The files in the cache of the user. */
    public static CudaFiles ofUser(Path home, Map<String, String> environment) throws IOException {
        return new CudaFiles(
                CudaArchiveFile.ofUser(runtime(home), environment).orElseThrow(() -> noLibtorch(home)), false);
    }

    /** The files in the installation. */
    public static CudaFiles ofInstallation(Path home) throws IOException {
        return new CudaFiles(CudaArchiveFile.ofInstallation(runtime(home)).orElseThrow(() -> noLibtorch(home)), true);
    }

    private static List<Path> runtime(Path home) throws IOException {
        try (Stream<Path> jars = Files.list(home.resolve("lib/runtime"))) {
            return jars.toList();
        }
    }

    private static UsageException noLibtorch(Path home) {
        return new UsageException(
                "cuda: " + home.resolve("lib/runtime") + " has no jar of libtorch. Build or install" + " jrun again.");
    }

    /** The jar and the folder of the libraries, as far as they exist. */
    public List<Path> present() {
        return Stream.of(archive.jar(), archive.libraries())
                .filter(Files::exists)
                .toList();
    }

    /**
     * Fetches the files that are missing, and removes what stopped downloads have left. Two processes may fetch at the same time: each file appears complete.
     *
     * @param notices receives a line before and after each download, and the progress every five seconds
     * @throws UsageException if the folder cannot be used, or Maven fails; one line
     */
    public void install(Map<String, String> environment, boolean withLibraries, Consumer<String> notices)
            throws IOException, InterruptedException {
        claim();
        try (TemporaryFolder downloads = TemporaryFolder.make(folder(), PART)) {
            install(environment, withLibraries, notices, downloads.path());
        }
    }

    private void install(
            Map<String, String> environment, boolean withLibraries, Consumer<String> notices, Path downloads)
            throws IOException, InterruptedException {
        Optional<String> damage =
                archive.isPresent() ? CudaBuildJar.damage(archive.jar()) : Optional.of("the jar is missing");
        if (damage.isEmpty()) {
            notices.accept("libtorch's CUDA build is in " + archive.jar());
        } else {
            if (archive.isPresent()) {
                notices.accept(damage.get() + "; the jar is replaced");
            }
            notices.accept("fetching libtorch's CUDA build into " + folder() + " with Maven, once (458 MB)");
            fetch(
                    environment,
                    GROUP + "pytorch:" + archive.version() + ":jar:linux-x86_64-gpu",
                    notices,
                    downloads,
                    jar -> {
                        CudaBuildJar.record(jar, archive.jar());
                        Files.move(jar, archive.jar(), StandardCopyOption.ATOMIC_MOVE);
                    });
            notices.accept("fetched " + archive.jar());
        }
        if (withLibraries && Files.isDirectory(archive.libraries())) {
            notices.accept("CUDA's own libraries are in " + archive.libraries());
        } else if (withLibraries) {
            notices.accept("fetching CUDA's own libraries into " + archive.libraries()
                    + " with Maven, once (about 3 GB, " + LIBRARIES.size() + " archives)");
            Path unpacked = Files.createDirectory(downloads.resolve("libraries"));
            for (String name : LIBRARIES) {
                fetch(
                        environment,
                        GROUP + name + ":" + LIBRARIES_VERSION + ":jar:linux-x86_64",
                        notices,
                        downloads,
                        jar -> unpack(jar, unpacked));
            }
            Files.move(unpacked, archive.libraries(), StandardCopyOption.ATOMIC_MOVE);
            notices.accept("fetched CUDA's own libraries into " + archive.libraries());
        }
    }

    private Path folder() {
        return archive.jar().resolveSibling("");
    }

    private void claim() {
        try {
            if (isShared) {
                Files.createDirectories(folder());
            } else {
                PrivateFolder.claim(folder().resolveSibling(""));
                PrivateFolder.claim(folder());
            }
        } catch (IOException e) {
            throw new UsageException(
                    WHAT + ": " + folder() + " cannot be used: " + FileError.reason(e, folder()) + ".");
        }
    }

    private interface JarAction {
        void accept(Path jar) throws IOException;
    }

    private void fetch(
            Map<String, String> environment,
            String artifact,
            Consumer<String> notices,
            Path downloads,
            JarAction action)
            throws IOException, InterruptedException {
        MavenFetch maven = MavenFetch.of(
                environment,
                WHAT,
                "Without a network put " + archive.jar().getFileName() + " into " + folder()
                        + ", and CUDA's own libraries into " + archive.libraries() + ".");
        Path download = Files.createTempDirectory(downloads, "");
        try {
            maven.copy(artifact, download, notices);
            List<Path> jars = list(download, "*.jar");
            if (jars.isEmpty()) {
                throw new UsageException(WHAT + ": Maven ended without an error, but brought no jar of " + artifact
                        + ". Look for a skip of the dependency plugin in Maven's settings.");
            }
            for (Path jar : jars) {
                action.accept(jar);
            }
        } finally {
            FolderDeletion.delete(download);
        }
    }

    private static List<Path> list(Path folder, String pattern) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, pattern)) {
            List<Path> found = new ArrayList<>();
            entries.forEach(found::add);
            return found;
        }
    }

    private static void unpack(Path jar, Path target) throws IOException {
        try (ZipFile archive = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : archive.stream()
                    .filter(each -> each.getName().startsWith(LIBRARIES_FOLDER)
                            && each.getName().contains(".so"))
                    .toList()) {
                try (InputStream in = archive.getInputStream(entry)) {
                    Path file = target.resolve(entry.getName().substring(LIBRARIES_FOLDER.length()));
                    if (!file.startsWith(target)) {
                        throw new IOException(jar + " has the entry " + entry.getName());
                    }
                    Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
    }

    /**
     * Removes the files, what stopped downloads have left, and the unpacked CUDA build of this node. Returns the removed
     * files and folders.
     */
    public List<Path> remove() throws IOException {
        List<Path> removed = new ArrayList<>(present());
        Files.deleteIfExists(CudaBuildJar.recordOf(archive.jar()));
        if (Files.isDirectory(folder())) {
            removed.addAll(list(folder(), PART + "*"));
        }
        Path natives = NativeLibraries.folderOf(UserId.ofThisProcess());
        Path unpacked = natives.resolve(archive.jar().getFileName());
        if (Files.isDirectory(unpacked) && PrivateFolder.exists(natives.resolveSibling(""))) {
            removed.add(unpacked);
            try (Stream<Path> markers = Files.list(natives)) {
                for (Path marker : markers.filter(file -> file.getFileName()
                                .toString()
                                .startsWith(".jrun-unpacked-" + archive.jar().getFileName()))
                        .toList()) {
                    FolderDeletion.delete(marker);
                }
            }
        }
        for (Path path : removed) {
            FolderDeletion.delete(path);
        }
        return removed;
    }
}
