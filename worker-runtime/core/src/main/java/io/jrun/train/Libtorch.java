package io.jrun.train;

import io.jrun.comm.cuda.CudaLibraries;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Loads libtorch into this JVM. A program that jrun does not start calls {@link #load()} before it uses any other class
 * of {@code org.bytedeco.pytorch}. jrun {@link NativeSetup prepares} every worker, and every class of this module that
 * needs libtorch loads libtorch.
 *
 * <p>The presets unpack their libraries one by one while they load them, {@code libtorch.so} before
 * {@code libtorch_cpu.so}. If the cache is empty and the machine has a libtorch of its own, the dynamic linker takes
 * {@code libtorch_cpu.so} of the machine, and the process crashes when the other {@code libtorch_cpu.so} is loaded.
 * This class therefore unpacks all libraries first. The class holds a file lock meanwhile: workers that start together
 * must not unpack 450 MB each.
 *
 * <p>A process that sees a GPU gets the CUDA build of libtorch, if {@code jrun cuda install} has fetched the build, see
 * {@link LibtorchBuild}.
 *
 * <p>The cache is {@code -Dorg.bytedeco.javacpp.cachedir} if set, else
 * {@link NativeCache#defaultDirectory() a directory of this user on this node}. All methods are thread-safe and
 * idempotent.
 */
public final class Libtorch {
    private static final String CACHE_PROPERTY = "org.bytedeco.javacpp.cachedir";
    private static final String EXTENSION_PROPERTY = "org.bytedeco.javacpp.platform.extension";
    private static final String PATHS_PROPERTY = "java.library.path";
    private static final String PATHS_FIRST_PROPERTY = "org.bytedeco.javacpp.pathsFirst";
    private static final String GPU_BUILD_SUFFIX = "-gpu.jar";
    /** Unpacking takes about 2 s. A full disk or a stopped process on this node must not block a worker without end. */
    private static final Duration LOCK_DEADLINE = Duration.ofMinutes(5);

    /**
     * The libraries in the order of their dependencies. The class opens the libraries by full path in this order. The
     * dynamic linker then finds the dependencies of a library in the process, and does not search LD_LIBRARY_PATH or
     * the folders of the system.
     */
    private static final List<String> LIBRARIES =
            List.of("libc10.so", "libgomp.so.1", "libtorch_cpu.so", "libtorch.so");

    /**
     * The libraries of the presets. The class unpacks these libraries before it opens the others: all must be in one
     * folder.
     */
    private static final List<String> BINDINGS = List.of("libjnitorch.so", "libjnitorch_gloo.so");

    /** The only platform of this version. */
    static final String ARCHIVE_SUFFIX = "-linux-x86_64.jar";

    /** The libraries of the CUDA build in the order of their dependencies. */
    private static final List<String> CUDA_LIBRARIES = List.of(
            "libc10.so",
            "libgomp.so.1",
            "libc10_cuda.so",
            "libtorch_cpu.so",
            "libtorch_cuda.so",
            "libtorch_cuda_linalg.so",
            "libtorch.so",
            "libjnitorch.so");

    private static boolean isLoaded;
    private static @Nullable LibtorchBuild build;

    private Libtorch() {}

    /**
     * Unpacks the libraries that the cache lacks, and loads libtorch.
     *
     * @throws UncheckedIOException if the cache cannot be written; the message names the cache
     */
    public static synchronized void load() {
        if (isLoaded) {
            return;
        }
        NativeCache cache = openCache();
        Optional<CudaArchive> cuda = build().cuda();
        if (cuda.isPresent()) {
            loadCuda(cache, cuda.get());
        } else {
            loadPlain(cache);
        }
        isLoaded = true;
    }

    private static void loadPlain(NativeCache cache) {
        Path marker = cache.marker(libraryArchive());
        if (Files.exists(marker)) {
            // The cache is filled: compares sizes and times at most, without the lock.
            if (seeksGpuBuilds() || !DirectLibtorchLoader.load(cache.directory(), marker, Optional.empty())) {
                Instant begin = Instant.now();
                unpackAndOpen();
                cache.checked(marker, begin);
            }
        } else {
            // The cache is empty. The lock is held while the libraries are opened, too: the BLAS is unpacked by its
            // loader.
            cache.locked(LOCK_DEADLINE, () -> {
                unpackAndOpen();
                cache.write(marker);
            });
        }
    }

    /**
     * Loads the CUDA build. The presets' loader finds the CUDA build first for each class that is used later, because
     * its library path has the folder of the CUDA build, and otherwise only folders without a libtorch. The JVM itself has read that property at its start.
     */
    private static void loadCuda(NativeCache cache, CudaArchive archive) {
        Path marker = unpack(cache, archive);
        Path folder = archive.unpacked(cache.directory());
        System.setProperty(
                PATHS_PROPERTY,
                Stream.concat(Stream.of(folder), DirectLibtorchLoader.foldersBeside(cache.directory()))
                        .map(Path::toString)
                        .collect(Collectors.joining(File.pathSeparator)));
        System.setProperty(PATHS_FIRST_PROPERTY, "true");
        CudaLibraries found = CudaLibraries.here();
        List<Path> libraries = Stream.concat(
                        Stream.concat(LibtorchBuild.USED.stream(), LibtorchBuild.NEEDED.stream())
                                .flatMap(library -> found.find(library).stream()),
                        CUDA_LIBRARIES.stream().map(folder::resolve))
                .toList();
        if (seeksGpuBuilds() || !DirectLibtorchLoader.load(cache.directory(), marker, Optional.of(libraries))) {
            Instant begin = Instant.now();
            Loader.load(openblas.class);
            libraries.forEach(library -> System.load(library.toString()));
            Loader.load(torch.class);
            cache.checked(marker, begin);
        }
    }

    /** Unpacks the CUDA build if the cache lacks a library or has another one. Returns the marker. */
    private static Path unpack(NativeCache cache, CudaArchive archive) {
        Path marker = cache.marker(archive.jar());
        Path folder = archive.unpacked(cache.directory());
        if (!isUnpacked(folder, marker)) {
            cache.locked(LOCK_DEADLINE, () -> {
                if (!isUnpacked(folder, marker)) {
                    archive.unpack(cache.directory());
                    cache.write(marker);
                }
            });
        }
        return marker;
    }

    private static boolean isUnpacked(Path folder, Path marker) {
        return CUDA_LIBRARIES.stream()
                .allMatch(library -> DirectLibtorchLoader.isUnchanged(folder.resolve(library), marker));
    }

    /**
     * Why this process uses the plain build of libtorch, which computes on the CPU only, and what to do for the CUDA
     * build: a sentence without its full stop. Empty if the process uses the CUDA build. The method loads nothing.
     */
    public static Optional<String> whyWithoutCuda() {
        return Optional.of(build().whyPlain()).filter(why -> !why.isEmpty());
    }

    private static synchronized LibtorchBuild build() {
        if (build == null) {
            refuseOtherBuild();
            build = LibtorchBuild.choose();
        }
        return build;
    }

    /**
     * With both builds on the class path the presets' loader opens both, and the process ends with SIGABRT. The method
     * has a plain loop because each worker runs it: the first lambda of a process takes milliseconds.
     */
    private static void refuseOtherBuild() {
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (CudaArchive.isArchive(entry, CudaArchive.GPU_SUFFIX)) {
                throw new IllegalArgumentException(
                        entry + " is on the class path, beside the build of libtorch that jrun brings."
                                + " Two builds of libtorch cannot be in one process. Take the jar off the class path and"
                                + " run 'jrun cuda install': jrun then uses the CUDA build on GPUs.");
            }
        }
    }

    /**
     * Fills the cache of this node, so that any later use of libtorch finds the libraries there. If the cache is
     * filled, the method only checks that one file exists.
     *
     * @throws UncheckedIOException if the cache cannot be written; the message names the cache
     */
    static synchronized void prepare() {
        NativeCache cache = openCache();
        Optional<CudaArchive> cuda = build().cuda();
        Path archive = cuda.isPresent() ? cuda.get().jar() : libraryArchive();
        if (!Files.exists(cache.marker(archive))) {
            load();
        }
    }

    /**
     * Sets how many threads one operation may use in this process, for both thread pools of libtorch: OpenMP's and the
     * BLAS library's. The method sets both pools, because two spinning pools on the same cores make a step ten times
     * slower.
     *
     * @param count at least 1
     */
    public static void setThreads(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("thread count must be at least 1, was " + count);
        }
        load();
        torch.set_num_threads(count);
        openblas.blas_set_num_threads(count);
    }

    /**
     * Fills the cache of this node for workers that start later, with the plain build and with an installed CUDA build.
     * Prints the folder of the cache.
     */
    public static void main(String[] args) throws IOException {
        loadPlain(openCache());
        CudaArchive.find(System.getenv()).ifPresent(archive -> unpack(openCache(), archive));
        System.out.println(Loader.getCacheDir());
    }

    private static NativeCache openCache() {
        String chosen = System.getProperty(CACHE_PROPERTY);
        Path directory = chosen == null ? NativeCache.defaultDirectory() : Path.of(chosen);
        System.setProperty(CACHE_PROPERTY, directory.toString());
        seekNoGpuBuilds();
        return NativeCache.open(directory);
    }

    /**
     * Without this property the presets search the GPU build of each library first, and about thirty libraries of CUDA,
     * in every jar and folder: half a second of each start. An empty value selects the plain builds.
     */
    private static void seekNoGpuBuilds() {
        if (System.getProperty(EXTENSION_PROPERTY) == null
                && classPath().noneMatch(entry -> entry.endsWith(GPU_BUILD_SUFFIX))) {
            System.setProperty(EXTENSION_PROPERTY, "");
        }
    }

    private static boolean seeksGpuBuilds() {
        return !"".equals(System.getProperty(EXTENSION_PROPERTY));
    }

    private static Stream<String> classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1));
    }

    /** The BLAS is first: where it cannot be opened, as without libstdc++, nothing large has been unpacked. */
    private static void unpackAndOpen() {
        Loader.load(openblas.class);
        BINDINGS.forEach(Libtorch::unpack);
        List<File> unpacked = LIBRARIES.stream().map(Libtorch::unpack).toList();
        unpacked.forEach(library -> System.load(library.getAbsolutePath()));
        Loader.load(torch.class);
    }

    private static File unpack(String library) {
        try {
            File unpacked = Loader.cacheResource(Loader.class, resource(library));
            if (unpacked == null) {
                throw new IllegalStateException(missing(library));
            }
            return unpacked;
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot unpack " + library + " into " + System.getProperty(CACHE_PROPERTY) + ": " + e.getMessage()
                            + ". It needs about 450 MB there; free space or choose another place with -D"
                            + CACHE_PROPERTY + "=DIR.",
                    e);
        }
    }

    /**
     * The jar that has the libraries. A rebuilt or replaced jar is checked again. The jar is found by its name on the
     * class path: that does not start the presets' loader.
     */
    private static Path libraryArchive() {
        return classPath()
                .filter(entry -> CudaArchive.isArchive(entry, ARCHIVE_SUFFIX))
                .findFirst()
                .map(Path::of)
                .orElseGet(Libtorch::resourceArchive);
    }

    private static Path resourceArchive() {
        URL url = Loader.class.getResource(resource("libtorch_cpu.so"));
        if (url == null) {
            throw new IllegalStateException(missing("libtorch_cpu.so"));
        }
        String text = url.toString();
        int bang = text.indexOf("!/");
        return Path.of(URI.create(bang < 0 ? text : text.substring("jar:".length(), bang)));
    }

    private static String resource(String library) {
        return "/org/bytedeco/pytorch/" + Loader.getPlatform() + "/" + library;
    }

    private static String missing(String library) {
        return library + " for " + Loader.getPlatform() + " is not on the class path."
                + " Start the program with jrun, or add org.bytedeco:pytorch with the classifier of this platform.";
    }
}
