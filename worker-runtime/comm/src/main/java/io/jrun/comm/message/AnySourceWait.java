package io.jrun.comm.message;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.GroupContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The pauses of a receive from any source while no stream has a message. Confined to one thread. */
final class AnySourceWait {
    /**
     * The longest pause between two checks of all streams. A longer pause delays the receive, a shorter pause costs CPU
     * time.
     */
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private static final long MIN_PAUSE_NANOS = 10_000;

    /** The time for which messages of a departed rank may still be under way. */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final int MAX_NAMED = 8;

    private final GroupContext group;
    private final PostedReceive receive;
    private final LongSupplier nanoTime;
    private long pauseNanos = MIN_PAUSE_NANOS;
    private long alone;

    /** @param nanoTime the clock, such as {@link System#nanoTime} */
    AnySourceWait(GroupContext group, PostedReceive receive, LongSupplier nanoTime) {
        this.group = group;
        this.receive = receive;
        this.nanoTime = nanoTime;
    }

    /** Starts again with the shortest pause, because a message has arrived. */
    void restart() {
        pauseNanos = MIN_PAUSE_NANOS;
    }

    /**
     * Returns the pause before the next check, in nanoseconds.
     *
     * @throws CommException PEER_LOST if all other ranks have left and no message of them can arrive any more
     */
    long nextPauseNanos() {
        List<String> left = group.health().isImpaired() ? left() : List.of();
        if (left.size() < group.size() - 1) {
            alone = 0;
        } else if (alone == 0) {
            alone = nanoTime.getAsLong();
        } else if (nanoTime.getAsLong() - alone > DEPARTURE_GRACE_NANOS) {
            throw allDeparted(left);
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

    private CommException allDeparted(List<String> left) {
        int named = Math.min(left.size(), MAX_NAMED);
        String more = left.size() > named ? " and " + (left.size() - named) + " more" : "";
        return new CommException(
                ErrorCode.PEER_LOST,
                String.join(", ", left.subList(0, named)) + more + " while " + group.describe(group.groupRank())
                        + " waited in " + receive.describe() + " on " + group.label()
                        + ": no rank is left that could send.");
    }
}
