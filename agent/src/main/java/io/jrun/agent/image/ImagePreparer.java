package io.jrun.agent.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Makes images ready for a mount. A .sqsh file or a root folder needs no preparation. A separate process unpacks images
 * of registries, OCI layouts and archives into the cache. The separate process has the libraries for unpacking, and
 * ends when this process ends for any reason. Thread-safe.
 */
public final class ImagePreparer {
    /** The first word of the process's lines about the progress. */
    public static final String PROGRESS = "progress ";

    /** The first word of the last line: the path of the cache's entry follows. */
    public static final String PREPARED = "prepared ";

    /** The first word of the last line after a failure: a sentence for the user follows. */
    public static final String FAILED = "failed ";

    private static final String MAIN = ImagePreparer.class.getPackageName() + ".pull.ImageMain";
    private static final int TAR_MAGIC_OFFSET = 257;
    private static final byte[] TAR_MAGIC = "ustar".getBytes(StandardCharsets.US_ASCII);

    /**
     * The time without output after which the process is considered hung. The process prints a line at least every 10
     * s, and ends when no byte has arrived for 60 s.
     */
    private static final long OUTPUT_TIMEOUT_SECONDS = 120;

    private final String classPath;
    private final Map<String, String> environment;
    private final Consumer<String> progress;

    /**
     * A preparer of this process.
     *
     * @param classPath the class path of the process that unpacks images
     * @param environment the variables of this process; variables name the cache, the credentials and the proxies
     * @param progress receives sentences for the user
     */
    public ImagePreparer(String classPath, Map<String, String> environment, Consumer<String> progress) {
        this.classPath = classPath;
        this.environment = Map.copyOf(environment);
        this.progress = progress;
    }

    /** The class path in the installation of this class. */
    public static String installedClassPath() {
        URL jar = ImagePreparer.class.getProtectionDomain().getCodeSource().getLocation();
        Path launcher = Path.of(URI.create(jar.toString())).resolveSibling("");
        return launcher + "/*:" + launcher.resolveSibling("image") + "/*";
    }

    /**
     * The root folder or the .sqsh file of an image on this node. An image with a tag needs a look-up in its registry
     * each time. An image with a digest needs no look-up if the cache has the image.
     *
     * @throws ContainerException if the image cannot be prepared; the message is one sentence
     */
    public Path prepare(ImageReference image) throws ContainerException, InterruptedException {
        if (image instanceof ImageReference.Local local && isReady(Path.of(local.path()))) {
            return Path.of(local.path());
        }
        return CachedImage.root(entry(image));
    }

    /** The cache's entry of an image. The method makes a missing entry. */
    public Path entry(ImageReference image) throws ContainerException, InterruptedException {
        Optional<Path> known = image instanceof ImageReference.Registry registry
                        && !registry.digest().isEmpty()
                ? cached(registry)
                : Optional.empty();
        return known.isPresent() ? known.get() : run(image);
    }

    /** By the name, or by a digest: of the manifest, or of an index that led to the manifest. */
    private Optional<Path> cached(ImageReference.Registry image) throws ContainerException {
        ImageCache cache = ImageCache.open(environment);
        try {
            Optional<CachedImage> named = cache.named(image.text());
            Optional<CachedImage> found = named.isPresent() ? named : cache.find(image.digest());
            if (found.isPresent()) {
                cache.use(found.get(), image.text());
            }
            return found.map(CachedImage::folder);
        } catch (IOException e) {
            throw new ContainerException("the image cache " + cache.folder() + " cannot be read: " + e.getMessage(), e);
        }
    }

    /** Whether a path needs no preparation. The engine reports a path that does not exist. */
    public static boolean isReady(Path path) throws ContainerException {
        if (Files.isDirectory(path)) {
            return !Files.exists(path.resolve("oci-layout"));
        }
        if (!Files.exists(path)) {
            String name = path.toString();
            int colon = name.lastIndexOf(':');
            return colon < 0 || !Files.exists(Path.of(name.substring(0, colon))); // else LAYOUT:TAG
        }
        try (InputStream in = UserFile.stream(path)) {
            byte[] head = in.readNBytes(TAR_MAGIC_OFFSET + TAR_MAGIC.length);
            return head.length < TAR_MAGIC_OFFSET + TAR_MAGIC.length
                    || !Arrays.equals(head, TAR_MAGIC_OFFSET, head.length, TAR_MAGIC, 0, TAR_MAGIC.length);
        } catch (IOException e) {
            throw new ContainerException("the image " + path + " cannot be read: " + FileError.reason(e, path), e);
        }
    }

    private Path run(ImageReference image) throws ContainerException, InterruptedException {
        Process process = start(image);
        try {
            return result(image, process);
        } finally {
            process.destroyForcibly();
        }
    }

    private Process start(ImageReference image) throws ContainerException {
        ProcessBuilder builder = new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java",
                "-XX:+UseSerialGC",
                "-Xmx512m",
                // Most of a look-up is the start of the JVM. The compilers then take less of it, and still compile what
                // runs for seconds.
                "-XX:CompileThresholdScaling=5",
                "--enable-native-access=ALL-UNNAMED", // The zstd library needs native access.
                "--sun-misc-unsafe-memory-access=allow",
                "-Dslf4j.internal.verbosity=ERROR",
                "-cp",
                classPath,
                MAIN,
                image.text());
        Map<String, String> child = new HashMap<>(environment);
        child.put("LC_ALL", "C.UTF-8"); // File names are bytes.
        builder.environment().clear();
        builder.environment().putAll(child);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new ContainerException("the process that prepares images cannot be started: " + e.getMessage(), e);
        }
    }

    private Path result(ImageReference image, Process process) throws ContainerException, InterruptedException {
        BlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();
        String[] lastError = {""};
        Thread errors = Thread.ofPlatform().daemon().name("jrun-image-errors").start(() -> {
            read(process.errorReader(StandardCharsets.UTF_8), line -> lastError[0] = line);
        });
        Thread.ofPlatform().daemon().name("jrun-image-lines").start(() -> {
            read(process.inputReader(StandardCharsets.UTF_8), line -> lines.add(Optional.of(line)));
            lines.add(Optional.empty());
        });
        while (true) {
            Optional<String> next = lines.poll(OUTPUT_TIMEOUT_SECONDS, TimeUnit.SECONDS);
            if (next == null) {
                throw new ContainerException("the image " + image.text() + " cannot be prepared: no progress for "
                        + OUTPUT_TIMEOUT_SECONDS + " s; try again");
            }
            if (next.isEmpty()) {
                errors.join();
                throw new ContainerException("the image " + image.text()
                        + " cannot be prepared: the process that prepares images ended with exit code "
                        + process.waitFor() + ": " + lastError[0]);
            }
            String line = next.get();
            if (line.startsWith(PROGRESS)) {
                progress.accept(line.substring(PROGRESS.length()));
            } else if (line.startsWith(PREPARED)) {
                return Path.of(line.substring(PREPARED.length()));
            } else if (line.startsWith(FAILED)) {
                throw new ContainerException(line.substring(FAILED.length()));
            }
        }
    }

    private static void read(BufferedReader reader, Consumer<String> line) {
        try (reader) {
            for (String next = reader.readLine(); next != null; next = reader.readLine()) {
                line.accept(next);
            }
        } catch (IOException e) {
            // The process has ended.
        }
    }
}
