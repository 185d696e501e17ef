package io.jrun.agent.container;

import java.nio.file.Path;

/**
 * A file or folder of the node that every worker of a job needs inside its container, under the same path.
 *
 * @param path absolute, on the node and inside
 */
public record HostFolder(Path path, Access access) {
    /** The access of a worker to the folder. */
    public enum Access {
        /** Read. */
        READ,
        /** Read and write. */
        WRITE,
        /** Read, and write to a layer of its own that ends with it; only for folders. */
        WRITE_COPY
    }
}
