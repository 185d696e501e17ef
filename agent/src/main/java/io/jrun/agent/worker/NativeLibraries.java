package io.jrun.agent.worker;

import io.jrun.agent.files.PrivateFolder;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The node's cache of unpacked native libraries of libtorch. The runtime of a worker outside of a container fills the
 * cache itself. A worker in a container may not write to the cache of the node, so the agent fills the cache before
 * such a worker starts. Otherwise each worker would unpack 450 MB into its own layer. NativeCache of the runtime has
 * the form of the cache.
 *
 * @param runtime the jars of jrun's runtime
 * @param folder the cache
 * @param cuda the jar of libtorch's CUDA build, if the build is installed
 */
public record NativeLibraries(List<Path> runtime, Path folder, Optional<Path> cuda) {
    /** Unpacks the libraries under a lock, and loads the libraries. */
    private static final String PROGRAM = "io.jrun.train.Libtorch";

    /** Unpacking takes about 2 s. The deadline is for a slow disk, and for another process that unpacks. */
    private static final long DEADLINE_SECONDS = 300;

    /** Copies the list. */
    public NativeLibraries {
        runtime = List.copyOf(runtime);
    }

    /** The libraries for the workers of the user with this environment, in the user's cache. */
    public static NativeLibraries of(List<Path> runtime, int user, Map<String, String> environment) {
        return new NativeLibraries(
                runtime,
                folderOf(user),
                CudaArchiveFile.find(runtime, environment).map(CudaArchiveFile::jar));
    }

    /** The cache of a user, in which the runtime of the user's workers looks for libraries. */
    public static Path folderOf(int user) {
        return PrivateFolder.ofUser(user).resolve("natives");
    }

    /** Whether the cache exists in a folder of this user, so that no other user has put libraries there. */
    boolean isOwn() {
        try {
            return PrivateFolder.exists(folder.resolveSibling(""))
                    && Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            return false;
        }
    }

    /** Fills the cache unless the cache has the libraries of this runtime. The job goes on after a failure. */
    public void fill(Consumer<String> notices) throws InterruptedException {
        Optional<String> failure = Optional.empty();
        try {
            PrivateFolder.claim(folder.resolveSibling(""));
            if (markers().stream().allMatch(Files::exists)) {
                return;
            }
            notices.accept("unpacking libtorch's libraries for workers in containers to " + folder
                    + ", once for this node (" + (cuda.isPresent() ? "1.3 GB" : "450 MB") + ")");
            failure = run();
        } catch (IOException e) {
            failure = Optional.of(String.valueOf(e.getMessage()));
        }
        failure.ifPresent(reason -> notices.accept("libtorch's libraries could not be unpacked to " + folder + ": "
                + reason + "; each worker that uses libtorch unpacks 450 MB into its own layer"));
    }

    /** The files that the runtime writes when all libraries are unpacked; empty if the runtime has no libtorch. */
    private List<Path> markers() throws IOException {
        List<Path> markers = new ArrayList<>();
        for (Path jar : runtime) {
            String name = jar.getFileName().toString();
            if (name.startsWith("pytorch-") && name.endsWith("-linux-x86_64.jar")) {
                markers.add(marker(jar));
            }
        }
        if (cuda.isPresent()) {
            markers.add(marker(cuda.get()));
        }
        return markers;
    }

    private Path marker(Path jar) throws IOException {
        return folder.resolve(".jrun-unpacked-" + jar.getFileName() + "-" + Files.size(jar) + "-"
                + Files.getLastModifiedTime(jar).toMillis());
    }

    /** Returns the reason of a failure. */
    private Optional<String> run() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-Dorg.bytedeco.javacpp.cachedir=" + folder,
                "-cp",
                runtime.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator)),
                PROGRAM));
        cuda.ifPresent(jar -> command.add(1, "-D" + CudaArchiveFile.PROPERTY + "=" + jar));
        Process process = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            StringBuilder lastLine = new StringBuilder();
            Thread reader =
                    Thread.ofPlatform().daemon().name("jrun-natives-errors").start(() -> read(process, lastLine));
            if (!process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                return Optional.of("the process has not ended within " + DEADLINE_SECONDS + " s");
            }
            reader.join();
            return process.exitValue() == 0
                    ? Optional.empty()
                    : Optional.of("the process ended with exit code " + process.exitValue() + ": " + lastLine);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Keeps the last line that is no frame of a stack. */
    private static void read(Process process, StringBuilder lastLine) {
        try (BufferedReader errors = process.errorReader(StandardCharsets.UTF_8)) {
            for (String line = errors.readLine(); line != null; line = errors.readLine()) {
                if (!line.startsWith("\t") && !line.startsWith("WARNING")) {
                    lastLine.setLength(0);
                    lastLine.append(line.strip());
                }
            }
        } catch (IOException e) {
            // The process has ended.
        }
    }
}
