package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.function.Supplier;

/** Lets the members of a group meet without the data plane of the group. Thread-safe. */
public interface GroupRendezvous {
    /**
     * Returns the offer of group rank 0 on every member. Collective over the group; called once for each group.
     *
     * @param offer called only on group rank 0; at most a kilobyte
     * @throws CommException COLLECTIVE_TIMEOUT past the deadline, or the cause that poisoned the group
     */
    byte[] fromFirst(GroupContext group, Supplier<byte[]> offer, Deadline deadline);

    /**
     * Waits until every member has called this method. Called at most once for each group, at its end.
     *
     * @param isReady false: this member has failed, and waits for nobody; the method returns false on all members
     * @return false if a member is not ready or has left, the group is poisoned, or the deadline has passed
     * @throws CommException if the job's store cannot be reached
     */
    boolean meet(GroupContext group, boolean isReady, Deadline deadline);
}
