package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.function.Supplier;

/** How the members of a group agree on a few bytes before it has a data plane. Thread-safe. */
@FunctionalInterface
public interface GroupRendezvous {
    /**
     * Returns on every member what group rank 0 offers. Collective over the group; once for each group.
     *
     * @param offer called on group rank 0 alone; at most a kilobyte
     * @throws CommException COLLECTIVE_TIMEOUT past the deadline, or the cause that poisoned the group
     */
    byte[] fromFirst(GroupContext group, Supplier<byte[]> offer, Deadline deadline);
}
