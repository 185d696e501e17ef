package io.jrun.comm.backend;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Says on stderr, once for each operation, that it has waited for long and for whom; the operation goes on. A waiting backend
 * asks at every turn of its slow path. Thread-safe.
 */
public final class LateWatch {
    private static final int COLLECTIVES = -1;

    /** Which of a group's operations run one after another: its collectives, or the messages of a direction with a peer. */
    private record Lane(OpKind kind, int peer) {
        static Lane of(Call call) {
            return call.kind().isMessage() ? new Lane(call.kind(), call.root()) : new Lane(OpKind.BARRIER, COLLECTIVES);
        }
    }

    private final GroupContext group;
    private final long afterNanos;
    private final ConcurrentHashMap<Lane, Long> told = new ConcurrentHashMap<>();

    /** A watch over the operations of one rank's end of a group. */
    public LateWatch(GroupContext group) {
        this.group = group;
        this.afterNanos = group.lateWarning().toNanos();
    }

    /**
     * Whether it is time to {@link #warn}: true once for each operation.
     *
     * @param leftNanos until the call's deadline
     */
    public boolean isDue(Call call, long leftNanos) {
        if (untilWarningNanos(call, leftNanos) > 0) {
            return false;
        }
        Long last = told.put(Lane.of(call), call.sequence());
        return last == null || last != call.sequence();
    }

    /**
     * Warns.
     *
     * @param whom the rest of the sentence: the ranks that are waited for
     */
    public void warn(Call call, String whom) {
        System.err.println("jrun: rank " + group.world().rank() + ": " + call.describe() + " on group " + group.name()
                + " has waited " + group.lateWarning().toSeconds() + " s (it fails after "
                + call.deadline().timeout().toSeconds() + " s) for " + whom);
    }

    /** Nanoseconds until there is something to say; zero or negative from then on. */
    public long untilWarningNanos(Call call, long leftNanos) {
        return leftNanos - (call.deadline().timeout().toNanos() - afterNanos);
    }
}
