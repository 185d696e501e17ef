package io.jrun.comm.backend;

import io.jrun.comm.Device;

/** Makes the backends of one world's groups. Owns their shared resources, such as connections. Thread-safe. */
public interface BackendFactory extends AutoCloseable {
    /**
     * Makes the backend of a group. Each member calls the method at its own first operation. The method does not wait
     * for the other members, because the operation may be a message between only two members.
     *
     * @throws io.jrun.comm.CommException SYSTEM if the operating system refuses a resource
     */
    Backend create(GroupContext group);

    /** Whether the backends of this factory can use memory of {@code device}. Cheap. */
    default boolean supports(Device device) {
        return device.isCpu();
    }

    /** Called after every backend has been closed. */
    @Override
    void close();
}
