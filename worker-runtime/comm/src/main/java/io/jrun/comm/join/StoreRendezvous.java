package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Store;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.store.StoreClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.Supplier;

/** A rendezvous of a group's members over the job's store. Thread-safe. */
record StoreRendezvous(Store store) implements GroupRendezvous {
    /** The longest time until a waiting member sees that the group is poisoned. */
    private static final Duration POLL = Duration.ofSeconds(1);

    /** The longest time until a rank that closes a group sees that another rank does not come. */
    private static final long MEETING_POLL_MILLIS = 100;

    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final byte[] READY = {1};
    private static final byte[] NOT_READY = {0};

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

    @Override
    public boolean meet(GroupContext group, boolean isReady, Deadline deadline) {
        String key = StoreClient.RESERVED + "meeting/" + group.world().round() + "/" + group.name();
        String outcome = key + "/outcome";
        if (!isReady || store.add(key, 1) == group.size()) {
            store.set(outcome, isReady ? READY : NOT_READY);
            return isReady;
        }
        while (true) {
            long millis = Math.clamp(deadline.remainingNanos() / NANOS_PER_MILLI, 0, MEETING_POLL_MILLIS);
            try {
                return Arrays.equals(store.get(outcome, Duration.ofMillis(millis)), READY);
            } catch (CommException notYet) {
                if (notYet.code() != ErrorCode.RENDEZVOUS_TIMEOUT) {
                    throw notYet;
                }
                if (deadline.passed() || group.health().isImpaired()) {
                    return false;
                }
            }
        }
    }
}
