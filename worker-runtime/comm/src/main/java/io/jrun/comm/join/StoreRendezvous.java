package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Store;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.store.StoreClient;
import java.time.Duration;
import java.util.function.Supplier;

/** A rendezvous of a group's members over the job's store. Thread-safe. */
record StoreRendezvous(Store store) implements GroupRendezvous {
    /** The longest time until a waiting member sees that the group is poisoned. */
    private static final Duration POLL = Duration.ofSeconds(1);

    @Override
    public byte[] fromFirst(GroupContext group, Supplier<byte[]> offer, Deadline deadline) {
        String key = StoreClient.RESERVED + "rendezvous/" + group.world().round() + "/" + group.name();
        if (group.groupRank() == 0) {
            byte[] offered = offer.get();
            store.set(key, offered);
            return offered;
        }
        while (true) {
            group.health().check();
            try {
                return store.get(key, POLL);
            } catch (CommException notYet) {
                if (notYet.code() != ErrorCode.RENDEZVOUS_TIMEOUT) {
                    throw notYet;
                }
                if (deadline.passed()) {
                    throw new CommException(
                            ErrorCode.COLLECTIVE_TIMEOUT,
                            group.label() + " was not opened within "
                                    + deadline.timeout().toSeconds() + " s: " + group.describe(0)
                                    + " has not begun an operation on it. Check the log of that rank.",
                            notYet);
                }
            }
        }
    }
}
