package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerEngine;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerName.Mode;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Runs workers in containers that jrun makes with util-linux. */
public final class BuiltinEngine implements ContainerEngine {
    private static final long CHECK_SECONDS = 10;

    /** The attempts to join or to mount a root with a name, which other jobs on this node mount and leave. */
    private static final int ATTEMPTS = 10;

    private final Optional<RootEntry> entry;

    /** An engine that starts the programs. */
    public BuiltinEngine() {
        this.entry = Optional.empty();
    }

    /** An engine that prepares root folders, and lets another command start programs in the folders. */
    public BuiltinEngine(RootEntry entry) {
        this.entry = Optional.of(entry);
    }

    /**
     * Checks that this machine has the programs and namespaces that containers need. Starts a process.
     *
     * @param environment of the agent
     */
    public static void check(Map<String, String> environment) throws ContainerException, InterruptedException {
        HostTools tools = HostTools.find(environment);
        List<String> command = new ArrayList<>(List.of(tools.unshare(), "--mount"));
        Account account = account(environment);
        if (!account.isRoot()) {
            command.addAll(List.of("--user", "--map-root-user"));
        }
        command.add("/bin/true");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!process.waitFor(CHECK_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new ContainerException(tools.unshare() + " has not ended within " + CHECK_SECONDS + " s");
            }
            if (process.exitValue() != 0) {
                throw new ContainerException(NamespaceRefusal.sentence(account));
            }
        } catch (IOException e) {
            throw new ContainerException(tools.unshare() + " cannot be started: " + e.getMessage(), e);
        }
    }

    @Override
    public NodeContainers start(ContainerSpec spec, NodeRequest node) throws ContainerException, InterruptedException {
        Account account = account(node.environment());
        HostTools tools = HostTools.find(node.environment());
        if (entry.isPresent()) {
            entry.get().check(node);
        }
        checkFiles(spec, node);
        Optional<NamedRoot> named = NamedRoot.open(spec, node.named());
        Optional<NamespaceHolder> running = named.isPresent() && !named.get().exists()
                ? running(spec.name().orElseThrow(), node)
                : Optional.empty();
        if (running.isPresent()) {
            checkNamespaces(spec, running.get());
            return prepare(spec, node, tools, account, running.get());
        }
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Optional<NamespaceHolder> holder = named.isPresent()
                    ? named.get().running(spec.name().orElseThrow().mode(), tools)
                    : Optional.empty();
            if (holder.isEmpty() || spec.name().orElseThrow().mode() == Mode.NO_EXEC) {
                holder = mount(spec, node, tools, account, named, holder);
            }
            if (holder.isPresent()) {
                checkNamespaces(spec, holder.get());
                return prepare(spec, node, tools, account, holder.get());
            }
        }
        throw new ContainerException(
                "--container-name=" + spec.name().orElseThrow().text()
                        + ": other jobs on this node start and end in the container at once; start the job again");
    }

    /** The container of a running job with this name. */
    private static Optional<NamespaceHolder> running(ContainerName name, NodeRequest node) {
        return name.mode() == Mode.AUTO || name.mode() == Mode.EXEC
                ? RunningContainers.of(node).find(name.name())
                : Optional.empty();
    }

    /** Checks the files of the options, before an image is prepared. */
    public static void checkFiles(ContainerSpec spec, NodeRequest node) throws ContainerException {
        if (!spec.save().isEmpty()) {
            ImageSave.check(Path.of(spec.save()), node);
        }
    }

    /** A job that joins a container has the namespaces of the container. */
    private static void checkNamespaces(ContainerSpec spec, NamespaceHolder holder) throws ContainerException {
        for (UnsharedNamespace each : spec.unshare()) {
            if (each != UnsharedNamespace.PID && !holder.namespaces().contains(each)) {
                throw new ContainerException("--container-unshare=" + each.word() + ": the container "
                        + spec.name().orElseThrow().name() + " is not in a separate " + each.nameInText()
                        + " namespace; leave the option out, or wait for the job that has made the container");
            }
        }
    }

    /**
     * Mounts the image, or the root of a container that runs; empty if another job has begun to mount the root with the
     * name, or if the container has ended.
     */
    private static Optional<NamespaceHolder> mount(
            ContainerSpec spec,
            NodeRequest node,
            HostTools tools,
            Account account,
            Optional<NamedRoot> named,
            Optional<NamespaceHolder> running)
            throws ContainerException, InterruptedException {
        LocalImage image = LocalImage.open(path(spec, named), account, node.environment());
        if (running.isPresent() && image.kind() == NamespaceHolder.Kind.FUSE) {
            throw new ContainerException(
                    "--container-name=" + spec.name().orElseThrow().text() + ": another job on this"
                            + " node uses the container, and squashfuse, which reads the image " + image.path()
                            + ", ends with this job; wait for the job, or make the container from a folder");
        }
        try {
            Files.createDirectory(node.scratch());
        } catch (IOException e) {
            throw new ContainerException("the folder of the containers cannot be made: " + e.getMessage(), e);
        }
        if (named.isPresent()) {
            if (!account.isRoot()) {
                image.checkOwner(named.get().name(), account);
            }
            named.get().make(image.path());
            image = LocalImage.open(named.get().image(), account, node.environment());
        }
        return NamespaceHolder.start(
                image,
                node,
                tools,
                account,
                named,
                spec.unshare(),
                SharedMounts.of(spec, account, BuiltinContainers.temporary(node)),
                running);
    }

    private NodeContainers prepare(
            ContainerSpec spec, NodeRequest node, HostTools tools, Account account, NamespaceHolder holder)
            throws ContainerException {
        try {
            return BuiltinContainers.prepare(spec, node, tools, account, holder, entry);
        } catch (ContainerException | RuntimeException e) {
            holder.close();
            throw e;
        }
    }

    private static Account account(Map<String, String> environment) throws ContainerException {
        try {
            return Account.ofThisProcess(environment);
        } catch (IOException e) {
            throw new ContainerException("/proc/self cannot be read: " + e.getMessage(), e);
        }
    }

    private static Path path(ContainerSpec spec, Optional<NamedRoot> named) throws ContainerException {
        if (named.isPresent() && named.get().exists()) {
            return named.get().image();
        }
        return switch (spec.image()
                .orElseThrow(() -> new ContainerException("no container with the name "
                        + spec.name().orElseThrow().name() + " is on this node, and no job of this name runs here in"
                        + " a container; add --container-image to make the container"))) {
            case ImageReference.Local local -> Path.of(local.path());
            case ImageReference.Registry registry ->
                throw new IllegalArgumentException(registry.text() + " has not been prepared");
        };
    }
}
