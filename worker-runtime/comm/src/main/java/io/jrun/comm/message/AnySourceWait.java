package io.jrun.comm.message;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.GroupContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** How a receive from any source goes on while no stream has a message. Confined to one thread. */
final class AnySourceWait {
    /** Between two looks at all streams: the price of a wait for any source in time, at the end and at the beginning. */
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private static final long MIN_PAUSE_NANOS = 10_000;

    /** How long what a rank sent before it left may be on its way. */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final int MAX_NAMED = 8;

    private final GroupContext group;
    private final PostedReceive receive;
    private final LongSupplier nanoTime;
    private long pauseNanos = MIN_PAUSE_NANOS;
    private long alone;

    /** @param nanoTime the clock, as {@link System#nanoTime} */
    AnySourceWait(GroupContext group, PostedReceive receive, LongSupplier nanoTime) {
        this.group = group;
        this.receive = receive;
        this.nanoTime = nanoTime;
    }

    /** There was a message. */
    void restart() {
        pauseNanos = MIN_PAUSE_NANOS;
    }

    /**
     * How long to wait before the next look.
     *
     * @throws CommException PEER_LOST if all other ranks have left, and nothing more can come of them
     */
    long nextPauseNanos() {
        List<String> left = group.health().isImpaired() ? left() : List.of();
        if (left.size() < group.size() - 1) {
            alone = 0;
        } else if (alone == 0) {
            alone = nanoTime.getAsLong();
        } else if (nanoTime.getAsLong() - alone > DEPARTURE_GRACE_NANOS) {
            throw nobodyLeft(left);
        }
        long pause = pauseNanos;
        pauseNanos = Math.min(2 * pause, MAX_PAUSE_NANOS);
        return pause;
    }

    private List<String> left() {
        List<String> left = new ArrayList<>();
        for (int source = 0; source < group.size(); source++) {
            String how = group.health().departure(source);
            if (how != null && source != group.groupRank()) {
                left.add(group.describe(source) + " " + how);
            }
        }
        return left;
    }

    private CommException nobodyLeft(List<String> left) {
        int named = Math.min(left.size(), MAX_NAMED);
        String more = left.size() > named ? " and " + (left.size() - named) + " more" : "";
        return new CommException(
                ErrorCode.PEER_LOST,
                String.join(", ", left.subList(0, named)) + more + " while " + group.describe(group.groupRank())
                        + " waited in " + receive.describe() + " on group " + group.name()
                        + ": nobody is left who could send.");
    }
}
