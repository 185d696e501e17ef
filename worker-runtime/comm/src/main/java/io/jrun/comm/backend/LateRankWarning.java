package io.jrun.comm.backend;

import io.jrun.comm.control.RankLocator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Says on stderr, once for each operation, that it has waited for long and for whom, then where those are, with their
 * stacks; the operation goes on. Shortly before an operation's deadline it asks again, so that the error can say it without
 * waiting. A waiting backend calls {@link #look} at every turn of its slow path. Thread-safe.
 */
public final class LateRankWarning {
    /** Longer than an agent waits for a worker that does not answer. */
    private static final long ASKED_BEFORE_END_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

    /** An error travels to the other ranks through some kilobytes of shared memory or one frame; a warning does not. */
    private static final int MAX_ERROR_CHARS = 1800;

    private static final int MAX_WARNING_CHARS = 16_384;
    private static final int COLLECTIVES = -1;
    private static final long NEWS_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** Those who are waited for. */
    public interface Awaited {
        /** Completes "it waits for ...". */
        String words();

        /** Group ranks of those whose place is of interest, the most wanted first; others than this one. */
        List<Integer> ranks();
    }

    /** Which of a group's operations run one after another: its collectives, or the messages of a direction with a peer. */
    private record Lane(OpKind kind, int peer) {
        static Lane of(Call call) {
            return call.kind().isMessage() ? new Lane(call.kind(), call.root()) : new Lane(OpKind.BARRIER, COLLECTIVES);
        }
    }

    /** The answers for the operation of that number. */
    private record Asked(long sequence, LateRankLocations ranks) {}

    private final GroupContext group;
    private final long afterNanos;
    private final ConcurrentHashMap<Lane, Long> told = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Lane, Asked> asked = new ConcurrentHashMap<>();

    /** A watch over the operations of one rank's end of a group. */
    public LateRankWarning(GroupContext group) {
        this.group = group;
        this.afterNanos = group.lateWarning().toNanos();
    }

    /** Whether {@link #look} has anything to do from now on: false for almost every turn. */
    public boolean isTime(Call call, long leftNanos) {
        long timeout = call.timeout().toNanos();
        return timeout - leftNanos >= Math.min(afterNanos, timeout - beforeEnd(timeout));
    }

    /**
     * Does what is due.
     *
     * @param leftNanos until the call's deadline
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

    /** Nanoseconds until there is something to do, the end of the operation included. */
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
     * What is known of where those ranks are, lines to follow an error's own text; empty if that is nothing. Waits for its
     * part of the {@link FailureDeadline}, and not at all where they were asked so long ago that no answer will come.
     */
    public String places(Call call, List<Integer> ranks) {
        FailureDeadline second = group.health().failureDeadline();
        second.found();
        LateRankLocations answers = asked(call, ranks);
        answers.await(second.leftNanos(FailureDeadline.Wait.PLACES));
        return answers.text(MAX_ERROR_CHARS);
    }

    /**
     * How a member has left whose connection has just ended, null if nobody knows: its agent's word may come a moment after
     * the end of the connection. Waits for its part of the {@link FailureDeadline}, and not at all where the group has failed for a
     * known cause.
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
            if (!text.isEmpty() && !answers.areToldByAnother()) {
                System.err.println(who + " waits, while:" + text);
            }
        });
    }

    private static long beforeEnd(long timeoutNanos) {
        return Math.min(ASKED_BEFORE_END_NANOS, timeoutNanos / 2);
    }
}
