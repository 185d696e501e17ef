package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import java.util.List;

/**
 * Starts the program of a worker in a root folder. The image, the layer of the worker and all mounts are in the folder
 * already. The words run in the mount namespace of the worker. Stateless.
 */
public interface RootEntry {
    /**
     * The root folder of one worker.
     *
     * @param folder absolute path in the mount namespace of the worker
     * @param scratch an empty folder that only this worker uses; the folder ends with the container
     */
    record PreparedRoot(String folder, String scratch, ContainerSpec spec) {}

    /**
     * Finds the programs that the engine needs on this node.
     *
     * @throws ContainerException if a program is missing
     */
    void check(NodeRequest node) throws ContainerException;

    /** Whether programs have process ids of their own, which the agent does not know. */
    boolean hasOwnPids();

    /** Whether the engine mounts the driver of GPUs itself. */
    boolean mountsGpuDriver();

    /** Whether the root must be writable also for a read-only container. The engine then makes the root read-only. */
    boolean needsWritableRoot();

    /** Returns the command that starts the program. */
    List<String> words(PreparedRoot root, WorkerRequest worker, NodeRequest node) throws ContainerException;
}
