package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.control.RankLocator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Warns on stderr, once for each operation, that the operation has waited for long. The first line names the awaited
 * ranks, and later lines their locations and stacks. The operation continues. Shortly before the deadline the class
 * requests the locations again, so that the error has them without another wait. A waiting backend calls {@link #check}
 * in each iteration of its slow path. Thread-safe.
 */
public final class LateRankWarning {
    /** Longer than an agent waits for a worker that does not answer. */
    private static final long REQUEST_BEFORE_END_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

    /**
     * An error travels to the other ranks in a few kilobytes of shared memory or in one frame. A warning does not
     * travel.
     */
    private static final int MAX_ERROR_CHARS = 1800;

    private static final int MAX_WARNING_CHARS = 16_384;
    private static final int COLLECTIVES = -1;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** The ranks for which an operation waits. */
    public interface Awaited {
        /** Describes the ranks: the object of "waits for ...". */
        String description();

        /** Group ranks whose locations to report, the most important first. */
        List<Integer> ranks();

        /** Group ranks that have not entered the operation, as far as the backend knows them; else empty. */
        default List<Integer> missing() {
            return List.of();
        }
    }

    /** The key of a queue of operations: the collectives of the group, or the messages of one direction with a peer. */
    private record QueueKey(OpKind kind, int peer) {
        static QueueKey of(Call call) {
            return call.kind().isMessage()
                    ? new QueueKey(call.kind(), call.root())
                    : new QueueKey(OpKind.BARRIER, COLLECTIVES);
        }
    }

    /** The requested locations for the operation of this sequence. */
    private record Requested(long sequence, LateRankLocations ranks) {}

    private final GroupContext group;
    private final long afterNanos;
    private final ConcurrentHashMap<QueueKey, Long> warned = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<QueueKey, Requested> requested = new ConcurrentHashMap<>();

    /** Watches the operations of this rank in one group. */
    public LateRankWarning(GroupContext group) {
        this.group = group;
        this.afterNanos = group.lateWarning().toNanos();
    }

    /** Whether {@link #check} has work to do now. False in almost every iteration. */
    public boolean isTime(Call call, long leftNanos) {
        long timeout = call.timeout().toNanos();
        return timeout - leftNanos >= Math.min(afterNanos, timeout - beforeEnd(timeout));
    }

    /**
     * Prints the warning, or requests the locations, at their times.
     *
     * @param leftNanos time until the deadline of the call
     */
    public void check(Call call, long leftNanos, Awaited awaited) {
        long timeout = call.timeout().toNanos();
        long waited = timeout - leftNanos;
        if (waited >= afterNanos && isFirst(call)) {
            warn(call, awaited);
        }
        if (waited >= timeout - beforeEnd(timeout)) {
            requested(call, awaited.ranks());
        }
    }

    /** Nanoseconds until {@link #check} has work to do, or until the end of the operation. */
    public long untilNextNanos(Call call, long leftNanos) {
        long timeout = call.timeout().toNanos();
        long untilWarning = afterNanos - (timeout - leftNanos);
        long untilRequest = leftNanos - beforeEnd(timeout);
        long next = leftNanos;
        if (untilWarning > 0) {
            next = Math.min(next, untilWarning);
        }
        return untilRequest > 0 ? Math.min(next, untilRequest) : next;
    }

    /**
     * Returns the failure of a call whose deadline has passed. Its first line names the ranks that did not come, which
     * may be other ranks than those from which the call awaited data.
     */
    public CommException timedOut(Call call, Awaited awaited) {
        String locations = locations(call, awaited.ranks());
        String late = requested(call, awaited.ranks()).late(awaited.missing());
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                call.describe() + " on " + group.label() + " timed out after "
                        + call.timeout().toSeconds() + " s: "
                        + (late.isEmpty()
                                ? group.describe(group.groupRank()) + " still waits for " + awaited.description()
                                : late)
                        + ". A rank may be slow, stopped or elsewhere in its program." + locations);
    }

    /**
     * Returns the locations of the ranks as lines that follow the text of an error; empty if no rank has answered.
     * Waits for its part of the {@link FailureDeadline}, and not at all if the request is so old that no answer will
     * come.
     */
    public String locations(Call call, List<Integer> ranks) {
        FailureDeadline deadline = group.health().failureDeadline();
        deadline.found();
        LateRankLocations answers = requested(call, ranks);
        answers.await(deadline.leftNanos(FailureDeadline.Wait.LOCATIONS));
        return answers.text(MAX_ERROR_CHARS);
    }

    /**
     * Returns the predicate of the departure of a member whose connection has just ended; null if unknown. The message
     * of its agent may come a moment after the end of the connection. Waits for its part of the
     * {@link FailureDeadline}, and not at all if the group has failed for a known cause.
     */
    public @Nullable String awaitDeparture(int groupRank) {
        GroupHealth health = group.health();
        health.failureDeadline().found();
        while (!group.world().locator().equals(RankLocator.NONE)
                && health.departure(groupRank) == null
                && health.cause() == null
                && health.failureDeadline().leftNanos(FailureDeadline.Wait.DEPARTURE) > 0) {
            LockSupport.parkNanos(this, POLL_NANOS);
        }
        return health.departure(groupRank);
    }

    private boolean isFirst(Call call) {
        long sequence = call.asCalled().sequence();
        Long last = warned.put(QueueKey.of(call), sequence);
        return last == null || last != sequence;
    }

    private LateRankLocations requested(Call call, List<Integer> ranks) {
        return requested
                .compute(QueueKey.of(call), (_, before) -> isAbout(before, call) ? before : request(call, ranks))
                .ranks();
    }

    private static boolean isAbout(@Nullable Requested before, Call call) {
        return before != null && before.sequence() == call.asCalled().sequence();
    }

    private Requested request(Call call, List<Integer> ranks) {
        return new Requested(call.asCalled().sequence(), new LateRankLocations(group, call, ranks));
    }

    private void warn(Call call, Awaited awaited) {
        String operation = "jrun: rank " + group.world().rank() + ": " + call.describe() + " on " + group.label();
        System.err.println(operation + " has waited " + group.lateWarning().toSeconds() + " s (it fails after "
                + call.timeout().toSeconds() + " s) for " + awaited.description());
        LateRankLocations answers = new LateRankLocations(group, call, awaited.ranks());
        answers.whenAnswered(() -> {
            String text = answers.text(MAX_WARNING_CHARS);
            if (!text.isEmpty() && !answers.isPrintedByLowerRank()) {
                System.err.println(operation + " waits, while:" + text);
            }
        });
    }

    private static long beforeEnd(long timeoutNanos) {
        return Math.min(REQUEST_BEFORE_END_NANOS, timeoutNanos / 2);
    }
}
