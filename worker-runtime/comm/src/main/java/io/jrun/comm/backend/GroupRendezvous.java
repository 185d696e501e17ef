package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.function.Supplier;

/** Lets the members of a group agree on a few bytes before the group has a data plane. Thread-safe. */
@FunctionalInterface
public interface GroupRendezvous {
    /**
     * Returns the offer of group rank 0 on every member. Collective over the group; called once for each group.
     *
     * @param offer called only on group rank 0; at most a kilobyte
     * @throws CommException COLLECTIVE_TIMEOUT past the deadline, or the cause that poisoned the group
     */
    byte[] fromFirst(GroupContext group, Supplier<byte[]> offer, Deadline deadline);
}
