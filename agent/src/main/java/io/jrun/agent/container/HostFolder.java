package io.jrun.agent.container;

import java.nio.file.Path;

/**
 * A file or folder of the node that every worker of a job needs inside its container.
 *
 * @param path absolute, on the node
 * @param inside absolute, in the container
 */
public record HostFolder(Path path, Path inside, Access access) {
    /** A file or folder with the same path on the node and inside. */
    public HostFolder(Path path, Access access) {
        this(path, path, access);
    }

    /** The access of a worker to the folder. */
    public enum Access {
        /** Read. */
        READ,
        /** Read and write. */
        WRITE,
        /** Read, and write to a layer of the worker. The layer ends with the worker. For folders only. */
        WRITE_COPY
    }
}
