package io.jrun.agent.container;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The containers of one job on this node. They vanish with the agent, however the agent ends. */
public interface NodeContainers extends AutoCloseable {
    /** Whether workers have process ids of their own, which the agent does not know. */
    boolean hasOwnPids();

    /** The settings of the image. */
    ImageSettings image();

    /**
     * From now on every container has this file or folder of the node, unless a mount of the user's has it there already.
     *
     * @throws ContainerException if it cannot be mounted
     */
    void add(HostFolder folder) throws ContainerException;

    /**
     * A path inside without links.
     *
     * @param path absolute, inside; what it names need not exist
     */
    String resolve(String path) throws ContainerException;

    /**
     * Where a file is on the node that a worker finds under {@code path}, to look at it; empty if there is none.
     *
     * @param path absolute, inside
     */
    Optional<Path> find(String path) throws ContainerException;

    /**
     * Makes a container for a worker.
     *
     * @return a command of the node that becomes the worker's program without another process in between
     */
    List<String> command(WorkerRequest worker) throws ContainerException;

    /**
     * Writes the image, and what the worker has written to the root, to a .sqsh file. The file appears complete or not at all.
     * Takes as long as the compression needs.
     *
     * @param id of a worker that has ended, before {@link #remove}
     * @param target absolute path on the node
     */
    void save(String id, Path target) throws ContainerException, InterruptedException;

    /** Takes a container away whose worker has ended. */
    void remove(String id);

    /** Takes all containers away. Their workers must have ended. */
    @Override
    void close();
}
