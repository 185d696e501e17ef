package io.jrun.train;

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
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.global.torch;

/**
 * Brings libtorch into this JVM. A program that is not started by jrun calls {@link #load()} before it touches anything else
 * of {@code org.bytedeco.pytorch}; under jrun every worker is {@link NativeSetup prepared}, and every class of this module
 * that needs torch loads it itself.
 *
 * <p>Why it is needed: the presets unpack their libraries one by one while they load, {@code libtorch.so} before
 * {@code libtorch_cpu.so}. With an empty cache on a machine that has a system libtorch the dynamic linker then takes the
 * system's {@code libtorch_cpu.so}, and the process dies in a static initialiser once the right one follows. So all
 * libraries are unpacked first, under a file lock, which also keeps many workers that start together from unpacking
 * 450 MB each.
 *
 * <p>The cache is {@code -Dorg.bytedeco.javacpp.cachedir} if set, else {@link NativeCache#defaultDirectory() a directory of
 * this user on this node}. All methods are thread-safe and idempotent.
 */
public final class Libtorch {
    private static final String CACHE_PROPERTY = "org.bytedeco.javacpp.cachedir";
    private static final String EXTENSION_PROPERTY = "org.bytedeco.javacpp.platform.extension";
    private static final String GPU_BUILD_SUFFIX = "-gpu.jar";
    /** Unpacking takes about 2 s; a full disk or a stopped neighbour must not hold a worker for ever. */
    private static final Duration LOCK_DEADLINE = Duration.ofMinutes(5);

    /**
     * In dependency order, and opened in it by full path: what a library needs is then in the process before the dynamic
     * linker goes looking for it, along LD_LIBRARY_PATH or in the system's folders.
     */
    private static final List<String> LIBRARIES =
            List.of("libc10.so", "libgomp.so.1", "libtorch_cpu.so", "libtorch.so");

    /** The presets' own; unpacked before the others are opened, since all must lie in one folder. */
    private static final List<String> BINDINGS = List.of("libjnitorch.so", "libjnitorch_gloo.so");

    /** The only platform of this version. */
    static final String ARCHIVE_SUFFIX = "-linux-x86_64.jar";

    private static boolean isLoaded;

    private Libtorch() {}

    /**
     * Unpacks what is missing in the cache and loads libtorch.
     *
     * @throws UncheckedIOException if the cache cannot be written; the message names it
     */
    public static synchronized void load() {
        if (isLoaded) {
            return;
        }
        NativeCache cache = openCache();
        Path marker = cache.marker(libraryArchive());
        if (Files.exists(marker)) {
            // Warm: at most compares sizes and times, without holding up the neighbours.
            if (seeksGpuBuilds() || !DirectLibtorchLoader.load(cache.directory(), marker)) {
                Instant begin = Instant.now();
                unpackAndOpen();
                cache.checked(marker, begin);
            }
        } else {
            // Cold: the lock is held over the opening too, since the BLAS is unpacked by its own loader.
            cache.locked(LOCK_DEADLINE, () -> {
                unpackAndOpen();
                cache.write(marker);
            });
        }
        isLoaded = true;
    }

    /**
     * Makes any later use of libtorch find this node's cache, filled, and quickly. Costs a look at one file when it is.
     *
     * @throws UncheckedIOException if the cache cannot be written; the message names it
     */
    static synchronized void prepare() {
        if (!Files.exists(openCache().marker(libraryArchive()))) {
            load();
        }
    }

    /**
     * Sets how many threads one operation may use in this process, for both of the pools that libtorch carries: its own
     * (OpenMP) and its BLAS library's. Two spinning pools on the same cores slow a step down tenfold, so they are only
     * ever set together.
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

    /** Fills this node's cache, so that workers which start afterwards find it warm; prints where it is. */
    public static void main(String[] args) throws IOException {
        load();
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
     * Where nothing is chosen the presets seek the GPU build of each library first, and some thirty libraries of CUDA, in
     * every jar and folder: half a second of each start. Nothing chosen but something set means the plain builds.
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

    private static void unpackAndOpen() {
        BINDINGS.forEach(Libtorch::unpack);
        List<File> unpacked = LIBRARIES.stream().map(Libtorch::unpack).toList();
        Loader.load(openblas.class);
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
     * The jar that the libraries are in: a rebuilt or replaced jar gets a cache check of its own. On the class path it is
     * known by its name, which does not start the presets' loader.
     */
    private static Path libraryArchive() {
        return classPath()
                .filter(entry -> entry.endsWith(ARCHIVE_SUFFIX)
                        && entry.substring(entry.lastIndexOf('/') + 1).startsWith("pytorch-"))
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
