package io.jrun.comm.backend;

import io.jrun.comm.Device;

/** Makes the backends of one world's groups; owns what they share, such as connections. Thread-safe. */
public interface BackendFactory extends AutoCloseable {
    /**
     * Called by each member of the group when its own first operation begins. Does not wait for the others: that operation
     * may be a message that concerns only two of them.
     *
     * @throws io.jrun.comm.CommException SYSTEM if the machine refuses what the backend needs
     */
    Backend create(GroupContext group);

    /** Whether the backends of this factory use memory of {@code device}. Cheap. */
    default boolean supports(Device device) {
        return device.isCpu();
    }

    /** Called after every backend has been closed. */
    @Override
    void close();
}
