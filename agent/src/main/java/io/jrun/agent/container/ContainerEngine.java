package io.jrun.agent.container;

/** A way to run workers in containers. Stateless. */
public interface ContainerEngine {
    /**
     * Prepares the containers of one job on this node: mounts the image once, for all workers.
     *
     * @param spec whose image is a .sqsh file or a root folder of this node
     * @throws ContainerException if the image or the engine cannot be used on this node
     */
    NodeContainers start(ContainerSpec spec, NodeRequest node) throws ContainerException, InterruptedException;
}
