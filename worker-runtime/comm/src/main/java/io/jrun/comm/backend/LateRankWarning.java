package io.jrun.comm.backend;

import io.jrun.comm.control.RankLocator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Warns on stderr, once for each operation, that the operation has waited for long: first for which ranks, then where those
 * ranks are, with their stacks. The operation continues. Shortly before the deadline the class asks the ranks again, so that the
 * error has their places without another wait. A waiting backend calls {@link #look} in each turn of its slow path. Thread-safe.
 */
public final class LateRankWarning {
    /** Longer than an agent waits for a worker that does not answer. */
    private static final long ASKED_BEFORE_END_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

    /** An error travels to the other ranks in a few kilobytes of shared memory or in one frame. A warning does not travel. */
    private static final int MAX_ERROR_CHARS = 1800;

    private static final int MAX_WARNING_CHARS = 16_384;
    private static final int COLLECTIVES = -1;
    private static final long NEWS_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** The ranks for which an operation waits. */
    public interface Awaited {
        /** Completes "it waits for ...". */
        String words();

        /** Group ranks whose places matter, the most important first. */
        List<Integer> ranks();
    }

    /** Operations of a group that run one after another: the collectives, or the messages of one direction with a peer. */
    private record Lane(OpKind kind, int peer) {
        static Lane of(Call call) {
            return call.kind().isMessage() ? new Lane(call.kind(), call.root()) : new Lane(OpKind.BARRIER, COLLECTIVES);
        }
    }

    /** The answers for the operation with that number. */
    private record Asked(long sequence, LateRankLocations ranks) {}

    private final GroupContext group;
    private final long afterNanos;
    private final ConcurrentHashMap<Lane, Long> told = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Lane, Asked> asked = new ConcurrentHashMap<>();

    /** Watches the operations of this rank in one group. */
    public LateRankWarning(GroupContext group) {
        this.group = group;
        this.afterNanos = group.lateWarning().toNanos();
    }

    /** Whether {@link #look} has anything to do now. False in almost every turn. */
    public boolean isTime(Call call, long leftNanos) {
        long timeout = call.timeout().toNanos();
        return timeout - leftNanos >= Math.min(afterNanos, timeout - beforeEnd(timeout));
    }

    /**
     * Warns or asks, if it is time.
     *
     * @param leftNanos time until the deadline of the call
     */
    public void look(Call call, long leftNanos, Awaited awaited) {
        long timeout = call.timeout().toNanos();
        long waited = timeout - leftNanos;
        if (waited >= afterNanos && isFirst(call)) {
            warn(call, awaited);
        }
        if (waited >= timeout - beforeEnd(timeout)) {
            asked(call, awaited.ranks());
        }
    }

    /** Nanoseconds until {@link #look} has something to do, or until the end of the operation. */
    public long untilNextNanos(Call call, long leftNanos) {
        long timeout = call.timeout().toNanos();
        long untilWarning = afterNanos - (timeout - leftNanos);
        long untilAsking = leftNanos - beforeEnd(timeout);
        long next = leftNanos;
        if (untilWarning > 0) {
            next = Math.min(next, untilWarning);
        }
        return untilAsking > 0 ? Math.min(next, untilAsking) : next;
    }

    /**
     * Where the ranks are, as lines that follow the text of an error; empty if no rank has answered. Waits for its part of the
     * {@link FailureDeadline}, and not at all if the ranks were asked so long ago that no answer will come.
     */
    public String places(Call call, List<Integer> ranks) {
        FailureDeadline second = group.health().failureDeadline();
        second.found();
        LateRankLocations answers = asked(call, ranks);
        answers.await(second.leftNanos(FailureDeadline.Wait.PLACES));
        return answers.text(MAX_ERROR_CHARS);
    }

    /**
     * How a member has left whose connection has just ended; null if unknown. The message of its agent may come a moment after the
     * end of the connection. Waits for its part of the {@link FailureDeadline}, and not at all if the group has failed for a known
     * cause.
     */
    public @Nullable String awaitDeparture(int groupRank) {
        GroupHealth health = group.health();
        health.failureDeadline().found();
        while (!group.world().locator().equals(RankLocator.NONE)
                && health.departure(groupRank) == null
                && health.cause() == null
                && health.failureDeadline().leftNanos(FailureDeadline.Wait.DEPARTURE) > 0) {
            LockSupport.parkNanos(this, NEWS_NANOS);
        }
        return health.departure(groupRank);
    }

    private boolean isFirst(Call call) {
        long sequence = call.asCalled().sequence();
        Long last = told.put(Lane.of(call), sequence);
        return last == null || last != sequence;
    }

    private LateRankLocations asked(Call call, List<Integer> ranks) {
        return asked.compute(Lane.of(call), (_, before) -> isAbout(before, call) ? before : ask(call, ranks))
                .ranks();
    }

    private static boolean isAbout(@Nullable Asked before, Call call) {
        return before != null && before.sequence() == call.asCalled().sequence();
    }

    private Asked ask(Call call, List<Integer> ranks) {
        return new Asked(call.asCalled().sequence(), new LateRankLocations(group, call, ranks));
    }

    private void warn(Call call, Awaited awaited) {
        String who = "jrun: rank " + group.world().rank() + ": " + call.describe() + " on group " + group.name();
        System.err.println(who + " has waited " + group.lateWarning().toSeconds() + " s (it fails after "
                + call.timeout().toSeconds() + " s) for " + awaited.words());
        LateRankLocations answers = new LateRankLocations(group, call, awaited.ranks());
        answers.whenAnswered(() -> {
            String text = answers.text(MAX_WARNING_CHARS);
            if (!text.isEmpty() && !answers.isToldByLowerRank()) {
                System.err.println(who + " waits, while:" + text);
            }
        });
    }

    private static long beforeEnd(long timeoutNanos) {
        return Math.min(ASKED_BEFORE_END_NANOS, timeoutNanos / 2);
    }
}
