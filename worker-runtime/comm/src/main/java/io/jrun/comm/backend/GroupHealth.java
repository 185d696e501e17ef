package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.Comparator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The failures of a group: the cause that poisoned it, and the members that have left. The group and its backend write,
 * all threads read. Thread-safe.
 *
 * <p>Ranks may find different causes at the same time. Until the cause is settled, the cause with the highest
 * precedence wins. The precedence is the same on every rank. A rank that knows a cause searches no further. A rank that
 * has exchanged causes with all other ranks therefore knows all of them.
 */
public final class GroupHealth {
    /**
     * A program's mistake explains a departure, not the reverse. Between equal kinds, the message decides, equally on
     * all ranks.
     */
    private static final Comparator<CommException> FIRST_CAUSES_FIRST = Comparator.comparingInt(
                    GroupHealth::distanceFromCause)
            .thenComparing(failure -> String.valueOf(failure.getMessage()));

    private record Cause(CommException failure, boolean isSettled) {}

    private final AtomicReference<@Nullable Cause> cause = new AtomicReference<>();
    private final ConcurrentHashMap<Integer, String> rankDepartures = new ConcurrentHashMap<>();
    private final FailureDeadline failureDeadline;
    private volatile boolean impaired;

    /** Makes the health of a group without failures. */
    public GroupHealth() {
        this(new FailureDeadline());
    }

    private GroupHealth(FailureDeadline failureDeadline) {
        this.failureDeadline = failureDeadline;
    }

    /**
     * Returns the health of a part of the group's data plane: separate causes and departures, and the same failure
     * deadline.
     */
    public GroupHealth ofPart() {
        return new GroupHealth(failureDeadline);
    }

    /** Records a cause that this rank has found. Only the first cause counts. */
    public void poison(CommException failure) {
        boolean _ = cause.compareAndSet(null, new Cause(failure, false));
        impaired = true;
    }

    /** Records a cause that another rank has found, unless the known cause has precedence or is settled. */
    public void poisonedElsewhere(CommException failure) {
        Cause _ = cause.accumulateAndGet(new Cause(failure, false), GroupHealth::first);
        impaired = true;
    }

    /** Settles the cause of a failed group and returns the cause. */
    public CommException settle() {
        Cause settled = cause.updateAndGet(known -> known == null ? null : new Cause(known.failure(), true));
        if (settled == null) {
            throw new IllegalStateException("the group has not failed");
        }
        return settled.failure();
    }

    /** Settles the cause on which the ranks have {@code agreed}. Returns the first settled cause. */
    public CommException settle(CommException agreed) {
        Cause mine = new Cause(agreed, true);
        Cause settled =
                cause.accumulateAndGet(mine, (known, other) -> known != null && known.isSettled() ? known : other);
        impaired = true;
        return settled == null ? agreed : settled.failure();
    }

    /** Records that a member has left the group. {@code how} is a predicate such as "returned from main". */
    public void left(int groupRank, String how) {
        rankDepartures.putIfAbsent(groupRank, how);
        impaired = true;
    }

    /** Whether there is a cause or a departure. Cheap enough for every iteration of a waiting loop. */
    public boolean isImpaired() {
        return impaired;
    }

    /** Returns the cause that poisoned the group; null if there is none. */
    public @Nullable CommException cause() {
        Cause known = cause.get();
        return known == null ? null : known.failure();
    }

    /** Returns the predicate of a member's departure; null if the member has not left. */
    public @Nullable String departure(int groupRank) {
        return rankDepartures.get(groupRank);
    }

    /** Returns the failure deadline. Its time begins with the first failed operation of this rank. */
    public FailureDeadline failureDeadline() {
        return failureDeadline;
    }

    /**
     * Throws if the group is poisoned. The exception has the caller's stack, and the code, text and stack of the cause.
     */
    public void check() {
        CommException first = cause();
        if (first != null) {
            throw new CommException(first.code(), String.valueOf(first.getMessage()), first);
        }
    }

    private static @Nullable Cause first(@Nullable Cause known, @Nullable Cause found) {
        boolean stays = known != null
                && (found == null
                        || known.isSettled()
                        || FIRST_CAUSES_FIRST.compare(known.failure(), found.failure()) <= 0);
        return stays ? known : found;
    }

    private static int distanceFromCause(CommException failure) {
        return switch (failure.code()) {
            case COLLECTIVE_MISMATCH, USAGE -> 0;
            case SYSTEM -> 1;
            case ABORTED -> 2;
            case RENDEZVOUS_TIMEOUT, COLLECTIVE_TIMEOUT -> 3;
            case PEER_LOST -> 4;
        };
    }
}
