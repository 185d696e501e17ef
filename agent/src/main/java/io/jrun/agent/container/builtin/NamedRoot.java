package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerName.Mode;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NamedContainers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A writable root with a name. The root stays on the node when the job ends. {@code FOLDER/NAME} holds the layer of the
 * root ({@code upper}, {@code work}), the path of its image ({@code image}), a lock that all jobs with the mounted root
 * share, and a file with the process and folder of each such job ({@code running}). Confined to one thread.
 */
record NamedRoot(String name, NamedContainers containers) {
    private static final long LOCK_SECONDS = 10;

    /** As long as a job waits for the mount of its image. */
    private static final long MAKE_MILLIS = 60_000;

    private static final long WAIT_MILLIS = 20;

    /** Returns the root of a job; empty if the job names no root. */
    static Optional<NamedRoot> open(ContainerSpec spec, Path folder) throws ContainerException {
        if (spec.name().isEmpty()) {
            return Optional.empty();
        }
        ContainerName name = spec.name().get();
        NamedRoot root = new NamedRoot(name.name(), new NamedContainers(folder));
        if (name.mode() == Mode.CREATE && root.exists()) {
            throw new ContainerException("--container-name=" + name.text() + ": the container already exists on"
                    + " this node ("
                    + root.folder() + "); use " + name.name() + ":auto, or delete the folder");
        }
        return Optional.of(root);
    }

    /** The folder of the root. */
    Path folder() {
        return containers.folder(name);
    }

    boolean exists() throws ContainerException {
        try {
            return containers.image(name).isPresent();
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    /** The image of the root. */
    Path image() throws ContainerException {
        try {
            return containers
                    .image(name)
                    .orElseThrow(() -> new ContainerException("the container " + name
                            + " was deleted on this node while the job started; start the job again"));
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    /** Makes the folders, and records the image unless the root has an image. */
    void make(Path image) throws ContainerException {
        Path folder = folder();
        try {
            containers.claim(name);
            Files.createDirectories(folder.resolve("upper"));
            Files.createDirectories(folder.resolve("work"));
            Path written = Files.createTempFile(folder, "new", "");
            Files.writeString(written, image.toString(), StandardCharsets.UTF_8);
            try {
                Files.createLink(folder.resolve(NamedContainers.IMAGE), written);
            } catch (FileAlreadyExistsException e) {
                // The root has an image. Another job may have made the root at the same time.
            } finally {
                Files.delete(written);
            }
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    /** The job that has this root mounted; empty if no job has the root mounted. */
    Optional<NamespaceHolder> running(Mode mode, HostTools tools) throws ContainerException, InterruptedException {
        for (long waited = 0; isMounted(tools); waited += WAIT_MILLIS) {
            if (mode == Mode.CREATE) {
                throw new ContainerException("--container-name=" + name + ":create: another job on this node uses the"
                        + " container; wait for the job, or use " + name + ":exec");
            }
            Optional<NamespaceHolder> running = firstRunning();
            if (running.isPresent()) {
                return running;
            }
            if (waited > MAKE_MILLIS) {
                throw new ContainerException("--container-name=" + name + ": another job on this node has not made the"
                        + " container within " + MAKE_MILLIS / 1_000 + " s; start the job again later");
            }
            Thread.sleep(WAIT_MILLIS); // The other job is making the container.
        }
        if (mode == Mode.EXEC) {
            throw new ContainerException("--container-name=" + name
                    + ":exec: no job on this node runs in the container; use " + name + ":auto to start it");
        }
        return Optional.empty();
    }

    /** The job that has mounted the root, or another job beside it if that job has ended. */
    private Optional<NamespaceHolder> firstRunning() {
        Path folder = folder().resolve("running");
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "[!.]*")) {
            List<Path> oldest = new ArrayList<>();
            files.forEach(oldest::add);
            oldest.sort(Comparator.comparingLong(file -> file.toFile().lastModified()));
            return oldest.stream()
                    .flatMap(file -> NamespaceHolder.running(file, true).stream())
                    .findFirst();
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.empty(); // The job is making the folder.
        }
    }

    /**
     * Tries the lock alone, for as long as the test runs. A job that starts in this moment takes the lock as taken, and
     * tries again.
     */
    private boolean isMounted(HostTools tools) throws ContainerException, InterruptedException {
        Path lock = folder().resolve("lock");
        try {
            if (!containers.hasFolder(name) || !Files.exists(lock, LinkOption.NOFOLLOW_LINKS)) {
                return false;
            }
            Process process = new ProcessBuilder(tools.flock(), "-n", "-E", "99", lock.toString(), "/bin/true")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(LOCK_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 99;
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    private ContainerException cannot(IOException e) {
        return new ContainerException(
                "the container " + name + " cannot be kept in " + folder() + ": " + ContainerException.words(e), e);
    }
}
