package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What is known to be wrong with a group: the cause that poisoned it, and the members that have left. Written by the group,
 * read by everybody; both only ever grow. Thread-safe.
 */
public final class GroupHealth {
    private final AtomicReference<@Nullable CommException> cause = new AtomicReference<>();
    private final ConcurrentHashMap<Integer, String> departures = new ConcurrentHashMap<>();
    private volatile boolean impaired;

    /** Records the failure of the group; only the first cause counts. Returns whether this was the first. */
    public boolean poison(CommException failure) {
        boolean first = cause.compareAndSet(null, failure);
        impaired = true;
        return first;
    }

    /** Records that a member takes part in nothing any more; {@code how} as in "returned from main". */
    public void left(int groupRank, String how) {
        departures.putIfAbsent(groupRank, how);
        impaired = true;
    }

    /** Cheap enough for every turn of a waiting loop: false as long as there is neither a cause nor a departure. */
    public boolean isImpaired() {
        return impaired;
    }

    /** Why the group is poisoned; null if it is not. */
    public @Nullable CommException cause() {
        return cause.get();
    }

    /** How a member has left; null if it has not. */
    public @Nullable String departure(int groupRank) {
        return departures.get(groupRank);
    }

    /** Throws if the group is poisoned: a new exception with the caller's stack, the first one's code, text and cause. */
    public void check() {
        CommException first = cause.get();
        if (first != null) {
            throw new CommException(first.code(), String.valueOf(first.getMessage()), first);
        }
    }
}
