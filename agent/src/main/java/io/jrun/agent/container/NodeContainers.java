package io.jrun.agent.container;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The containers of one job on this node. The containers end with the agent, also if the agent is killed. */
public interface NodeContainers extends AutoCloseable {
    /** Whether workers have process ids of their own, which the agent does not know. */
    boolean hasOwnPids();

    /** The settings of the image. */
    ImageSettings image();

    /**
     * Adds a file or folder of the node to every container, unless a mount of the user has already added the path.
     *
     * @throws ContainerException if the file or folder cannot be mounted
     */
    void add(HostFolder folder) throws ContainerException;

    /**
     * The path inside the container without links.
     *
     * @param path absolute path inside the container; the file need not exist
     */
    String resolve(String path) throws ContainerException;

    /**
     * The path on the node of the file that a worker sees at {@code path}, for reading; empty if the file does not
     * exist.
     *
     * @param path absolute path inside the container
     */
    Optional<Path> find(String path) throws ContainerException;

    /**
     * Makes a container for a worker.
     *
     * @return a command of the node; the process of the command becomes the worker's program
     */
    List<String> command(WorkerRequest worker) throws ContainerException;

    /**
     * Writes the root with the worker's changes to a .sqsh file. The file appears only when it is complete. Blocks
     * until the compression has ended.
     *
     * @param id of a worker that has ended, before {@link #remove}
     * @param target absolute path on the node
     */
    void save(String id, Path target) throws ContainerException, InterruptedException;

    /** Removes the container of a worker. The worker must have ended. */
    void remove(String id);

    /** Removes all containers. The workers must have ended. */
    @Override
    void close();
}
