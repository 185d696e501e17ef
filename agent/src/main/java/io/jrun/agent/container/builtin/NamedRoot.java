package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerName.Mode;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NamedContainers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A writable root with a name. The root stays on the node when the job ends. {@code FOLDER/NAME} holds the layer of the
 * root ({@code upper}, {@code work}), the path of its image ({@code image}), a lock that the job with the mounted root
 * holds, and the process and folder of that job ({@code running}). Confined to one thread.
 */
record NamedRoot(String name, Path folder) {
    private static final long LOCK_SECONDS = 10;

    /** Returns the root of a job; empty if the job names no root. */
    static Optional<NamedRoot> open(ContainerSpec spec, Path folder) throws ContainerException {
        if (spec.name().isEmpty()) {
            return Optional.empty();
        }
        ContainerName name = spec.name().get();
        NamedRoot root = new NamedRoot(name.name(), folder.resolve(name.name()));
        if (name.mode() == Mode.CREATE && root.exists()) {
            throw new ContainerException("--container-name=" + name.text() + ": the container already exists on"
                    + " this node ("
                    + root.folder + "); use " + name.name() + ":auto, or delete the folder");
        }
        return Optional.of(root);
    }

    boolean exists() {
        return Files.isRegularFile(folder.resolve(NamedContainers.IMAGE), LinkOption.NOFOLLOW_LINKS);
    }

    /** The image of the root. */
    Path image() throws ContainerException {
        try {
            return Path.of(Files.readString(folder.resolve(NamedContainers.IMAGE), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    /** Makes the folders, unless the root exists. */
    void make(Path image) throws ContainerException {
        try {
            Files.createDirectories(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Files.createDirectories(folder.resolve("upper"));
            Files.createDirectories(folder.resolve("work"));
            if (!exists()) {
                Path written = Files.createTempFile(folder, "new", "");
                Files.writeString(written, image.toString(), StandardCharsets.UTF_8);
                Files.move(written, folder.resolve(NamedContainers.IMAGE));
            }
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    /** Joins the job that has this root mounted; empty if no job has the root mounted. */
    Optional<NamespaceHolder> join(Mode mode, HostTools tools) throws ContainerException, InterruptedException {
        if (isMounted(tools)) {
            if (mode == Mode.NO_EXEC || mode == Mode.CREATE) {
                throw new ContainerException("--container-name=" + name + ":"
                        + (mode == Mode.CREATE ? "create" : "no_exec")
                        + ": another job on this node uses the container; wait for the job, or use " + name + ":exec");
            }
            return Optional.of(running());
        }
        if (mode == Mode.EXEC) {
            throw new ContainerException("--container-name=" + name
                    + ":exec: no job on this node runs in the container; use " + name + ":auto to start it");
        }
        return Optional.empty();
    }

    private boolean isMounted(HostTools tools) throws ContainerException, InterruptedException {
        Path lock = folder.resolve("lock");
        if (!Files.exists(lock)) {
            return false;
        }
        try {
            Process process = new ProcessBuilder(tools.flock(), "-n", "-E", "99", lock.toString(), "/bin/true")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(LOCK_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 99;
        } catch (IOException e) {
            throw cannot(e);
        }
    }

    private NamespaceHolder running() throws ContainerException {
        try {
            List<String> lines = Files.readAllLines(folder.resolve("running"), StandardCharsets.UTF_8);
            return NamespaceHolder.joined(Long.parseLong(lines.get(0)), Path.of(lines.get(1)));
        } catch (IOException | RuntimeException e) {
            throw new ContainerException(
                    "the container " + name + " is being made by another job on this node; start the job again in"
                            + " some seconds",
                    e);
        }
    }

    private ContainerException cannot(IOException e) {
        return new ContainerException("the container " + name + " cannot be kept in " + folder + ": " + e, e);
    }
}
