package io.jrun.agent.job;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.NamedContainers;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.builtin.BuiltinEngine;
import io.jrun.agent.container.external.ContainerEngines;
import io.jrun.agent.image.ImagePreparer;
import io.jrun.agent.node.UserId;
import io.jrun.agent.proto.Container;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.NativeLibraries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The containers of a job's workers on this node, if the job requests containers. The agent makes the containers while
 * the workers' files arrive. A launch waits for both.
 */
final class JobContainers {
    /** The folder of the containers with a name, on a disk of the node, beside the cache of native libraries. */
    private static final NamedContainers NAMED = NamedContainers.ofUser(UserId.ofThisProcess());

    private final Optional<ContainerSpec> spec;
    private final String runId;
    private final boolean isJava;
    private final CompletableFuture<Optional<NodeContainers>> started = new CompletableFuture<>();
    private Optional<Thread> maker = Optional.empty();

    JobContainers(OpenJob request) {
        this.spec = request.hasContainer() ? Optional.of(spec(request.getContainer())) : Optional.empty();
        this.runId = request.getRunId();
        this.isJava = request.getContainer().getJavaProgram();
        if (spec.isEmpty()) {
            started.complete(Optional.empty());
        }
    }

    /**
     * Begins to make the containers on a separate thread.
     *
     * @param folder a folder of this job alone; the guard removes the folder
     * @param progress receives sentences for the user while the image is prepared
     */
    void begin(Path folder, Map<String, String> environment, AgentOptions options, Consumer<String> progress) {
        maker = spec.map(requested -> Thread.ofVirtual().name("jrun-containers").start(() -> {
            try {
                if (isJava) {
                    NativeLibraries.of(options.runtimeClassPath(), UserId.ofThisProcess(), environment)
                            .fill(progress);
                }
                NodeContainers made = make(
                        requested,
                        new NodeRequest(
                                folder.resolve("containers"),
                                NAMED.folder(),
                                ContainerName.ofJob(runId, environment),
                                environment),
                        progress);
                if (!started.complete(Optional.of(made))) {
                    made.close(); // The job has ended meanwhile.
                }
            } catch (ContainerException | RuntimeException e) {
                started.completeExceptionally(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                started.completeExceptionally(e);
            }
        }));
    }

    private static NodeContainers make(ContainerSpec requested, NodeRequest node, Consumer<String> progress)
            throws ContainerException, InterruptedException {
        BuiltinEngine.checkFiles(requested, node);
        ContainerSpec ready = prepared(requested, node.environment(), progress);
        try {
            return ContainerEngines.of(requested.engine()).start(ready, node);
        } catch (ContainerException e) {
            if (ready.equals(requested) || isThere(ready)) {
                throw e;
            }
            // a command has removed the image from the cache since the lookup
            return ContainerEngines.of(requested.engine())
                    .start(prepared(requested, node.environment(), progress), node);
        }
    }

    private static boolean isThere(ContainerSpec spec) {
        return spec.image()
                .filter(image -> image instanceof ImageReference.Local local && Files.exists(Path.of(local.path())))
                .isPresent();
    }

    /** The same container, of an image that engines can mount. */
    private static ContainerSpec prepared(
            ContainerSpec requested, Map<String, String> environment, Consumer<String> progress)
            throws ContainerException, InterruptedException {
        if (requested.image().isEmpty() || isKept(requested, progress)) {
            return requested;
        }
        ImagePreparer preparer = new ImagePreparer(ImagePreparer.installedClassPath(), environment, progress);
        Path image = preparer.prepare(requested.image().get());
        return requested.withImage(new ImageReference.Local(image.toString()));
    }

    /** Whether the container exists on the node. The container keeps its image, so no image needs preparation. */
    private static boolean isKept(ContainerSpec requested, Consumer<String> progress) throws ContainerException {
        if (requested.name().isEmpty()) {
            return false;
        }
        String name = requested.name().get().name();
        try {
            Optional<Path> kept = NAMED.image(name);
            if (kept.isPresent()
                    && requested.image().get() instanceof ImageReference.Local local
                    && ImagePreparer.isReady(Path.of(local.path()))
                    && !isSame(Path.of(local.path()), kept.get())) {
                progress.accept("the container " + name + " exists on this node and keeps its image " + kept.get()
                        + "; --container-image=" + local.path() + " is not used");
            }
            return kept.isPresent();
        } catch (IOException e) {
            throw new ContainerException(
                    "the container " + name + " cannot be used: " + ContainerException.words(e), e);
        }
    }

    private static boolean isSame(Path one, Path other) throws IOException {
        return Files.exists(one) && Files.exists(other) && Files.isSameFile(one, other);
    }

    /** Completes when workers can start, or completes exceptionally with the reason why no worker can start. */
    CompletableFuture<Optional<NodeContainers>> started() {
        return started;
    }

    /**
     * The containers; empty if the job requests no containers. Call this method after {@link #started} has completed.
     */
    Optional<NodeContainers> containers() {
        return started.join();
    }

    /** The containers that the job requests. Only for a job with containers. */
    ContainerSpec spec() {
        return spec.orElseThrow();
    }

    /**
     * Runs after the end of a worker. Saves the root if the job requests a save and the worker has local rank 0. Blocks
     * until the file is written.
     *
     * @param progress receives a sentence for the user before the file is written
     * @return the reason why the root could not be saved; empty without a failure
     */
    Optional<String> ended(String id, int localRank, Consumer<String> progress) {
        if (!started.isDone()
                || started.isCompletedExceptionally()
                || containers().isEmpty()) {
            return Optional.empty();
        }
        NodeContainers made = containers().get();
        try {
            if (localRank == 0 && !spec().save().isEmpty()) {
                progress.accept("--container-save: writing the root of local rank 0 to " + spec().save());
                made.save(id, Path.of(spec().save()));
            }
            return Optional.empty();
        } catch (ContainerException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("--container-save was interrupted");
        } finally {
            made.remove(id);
        }
    }

    /** Removes the containers. All workers must have ended. */
    void close() {
        maker.ifPresent(Thread::interrupt);
        if (!started.complete(Optional.empty()) && !started.isCompletedExceptionally()) {
            containers().ifPresent(NodeContainers::close);
        }
    }

    private static ContainerSpec spec(Container requested) {
        return new ContainerSpec(
                optional(requested.getImage()).map(ImageReference::parse),
                requested.getMountsList().stream().map(JobContainers::mount).toList(),
                requested.getWorkdir(),
                optional(requested.getName()).map(ContainerName::parse),
                requested.getSave(),
                requested.getMountHome(),
                requested.getRemapRoot(),
                !requested.getReadOnly(),
                requested.getEntrypoint(),
                requested.getEntrypointLog(),
                requested.getEnvList(),
                requested.getUnshareList().isEmpty()
                        ? List.of()
                        : UnsharedNamespace.parseAll(String.join(",", requested.getUnshareList())),
                JavaChoice.parse(requested.getJava()),
                EngineChoice.parse(requested.getEngine()));
    }

    private static Optional<String> optional(String text) {
        return Optional.of(text).filter(given -> !given.isEmpty());
    }

    private static ContainerMount mount(io.jrun.agent.proto.ContainerMountEntry requested) {
        return new ContainerMount(
                ContainerMount.Kind.valueOf(requested.getKind()),
                requested.getSource(),
                requested.getTarget(),
                requested.getFlagsList());
    }
}
