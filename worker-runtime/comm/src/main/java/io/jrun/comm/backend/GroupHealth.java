package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.Comparator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What is known to be wrong with a group: the cause that poisoned it, and the members that have left. Written by the group
 * and its backend, read by everybody. Thread-safe.
 *
 * <p>Ranks may find different things at the same time. Of what several ranks have found, until the cause is settled, that
 * counts which explains the rest, by an order that is the same on every rank. Who knows a cause finds no other: so one that
 * has told its cause to all others, and heard theirs, knows them all.
 */
public final class GroupHealth {
    /** What a program did wrong explains that it left, and not the other way round; of equals, any choice that all make. */
    private static final Comparator<CommException> FIRST_CAUSES_FIRST = Comparator.comparingInt(
                    GroupHealth::distanceFromCause)
            .thenComparing(failure -> String.valueOf(failure.getMessage()));

    private record Cause(CommException failure, boolean isSettled) {}

    private final AtomicReference<@Nullable Cause> cause = new AtomicReference<>();
    private final ConcurrentHashMap<Integer, String> rankDepartures = new ConcurrentHashMap<>();
    private final FailureDeadline failureDeadline;
    private volatile boolean impaired;

    /** Of a group with which nothing is wrong. */
    public GroupHealth() {
        this(new FailureDeadline());
    }

    private GroupHealth(FailureDeadline failureDeadline) {
        this.failureDeadline = failureDeadline;
    }

    /** Of a part of the group's data plane: causes and members of its own, and the group's second. */
    public GroupHealth ofPart() {
        return new GroupHealth(failureDeadline);
    }

    /** Records the failure of the group that this rank has found; only the first cause counts. */
    public void poison(CommException failure) {
        boolean _ = cause.compareAndSet(null, new Cause(failure, false));
        impaired = true;
    }

    /** Records what another rank has found: the cause, unless one is known that explains it or is settled. */
    public void poisonedElsewhere(CommException failure) {
        Cause _ = cause.accumulateAndGet(new Cause(failure, false), GroupHealth::first);
        impaired = true;
    }

    /** Ends the search for the cause of a failed group; returns it. */
    public CommException settle() {
        Cause settled = cause.updateAndGet(known -> known == null ? null : new Cause(known.failure(), true));
        if (settled == null) {
            throw new IllegalStateException("the group has not failed");
        }
        return settled.failure();
    }

    /** The same where the ranks have agreed on {@code agreed}; returns what was settled first. */
    public CommException settle(CommException agreed) {
        Cause mine = new Cause(agreed, true);
        Cause settled =
                cause.accumulateAndGet(mine, (known, told) -> known != null && known.isSettled() ? known : told);
        impaired = true;
        return settled == null ? agreed : settled.failure();
    }

    /** Records that a member takes part in nothing any more; {@code how} as in "returned from main". */
    public void left(int groupRank, String how) {
        rankDepartures.putIfAbsent(groupRank, how);
        impaired = true;
    }

    /** Cheap enough for every turn of a waiting loop: false as long as there is neither a cause nor a departure. */
    public boolean isImpaired() {
        return impaired;
    }

    /** Why the group is poisoned; null if it is not. */
    public @Nullable CommException cause() {
        Cause known = cause.get();
        return known == null ? null : known.failure();
    }

    /** How a member has left; null if it has not. */
    public @Nullable String departure(int groupRank) {
        return rankDepartures.get(groupRank);
    }

    /** Begins with the first operation of this rank that fails. */
    public FailureDeadline failureDeadline() {
        return failureDeadline;
    }

    /** Throws if the group is poisoned: a new exception with the caller's stack, the cause's code, text and stack. */
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
