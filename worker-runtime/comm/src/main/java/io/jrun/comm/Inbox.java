package io.jrun.comm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgressThread;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Brings the messages to one rank of a group to the receives that they are for. Each sender's messages are a stream; of the
 * threads that wait for messages of a sender, one reads its stream, hands each message to the receive that was posted first
 * among those that fit, whoever waits for that, and keeps what fits none. Who waits for any source looks at all streams that
 * nobody reads, by turns. Thread-safe.
 */
final class Inbox implements Queue {
    /** Between two looks at all streams: the price of a wait for any source in time, at the end and at the beginning. */
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private static final long MIN_PAUSE_NANOS = 10_000;

    /** How long what a rank sent before it left may be on its way. */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final GroupContext group;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Matches matches;
    /** Where receives are completed by whoever read their message: what continues them may call anything. */
    private final Executor completions;

    private final boolean[] isRead;
    private final long[] received;
    private final long[] posts;
    private int active;
    private boolean closed;

    Inbox(GroupContext group) {
        this.group = group;
        this.matches = new Matches(group);
        this.completions = new ThreadPoolExecutor(
                0,
                1,
                1,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                task -> new ProgressThread("group " + group.name() + " received", task));
        this.isRead = new boolean[group.size()];
        this.received = new long[group.size()];
        this.posts = new long[group.size() + 1];
    }

    /** A receive is called: from now on messages may go to it. Every one ends with {@link #forget}. */
    Posted post(Request request, int tag) {
        return post(request, tag, false);
    }

    /** The same for an object of any size. */
    Posted postObject(Request request, int tag) {
        return post(request, tag, true);
    }

    private Posted post(Request request, int tag, boolean isObject) {
        int source = request.root() == Messages.ANY_SOURCE ? group.size() : request.root();
        lock.lock();
        try {
            if (closed) {
                throw Lane.closed("group " + group.name());
            }
            active++;
            Posted receive = new Posted(request, tag, isObject, posts[source]++);
            matches.post(receive);
            if (receive.hasArrived()) {
                receive.complete(); // Nothing continues it yet.
            }
            return receive;
        } finally {
            lock.unlock();
        }
    }

    /** A receive is over, one way or the other. */
    void forget(Posted receive) {
        lock.lock();
        try {
            matches.forget(receive);
            active--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns when the receive has its message; reads streams while nobody else does. */
    void await(Backend backend, Call call, Posted mine) {
        long pause = MIN_PAUSE_NANOS;
        long departed = 0;
        lock.lock();
        try {
            while (!mine.hasArrived()) {
                if (mine.isFilling()) {
                    changed.awaitUninterruptibly();
                    continue;
                }
                mine.checkRefused();
                group.health().check();
                if (call.deadline().passed()) {
                    throw timedOut(call, mine);
                }
                if (mine.source() != Messages.ANY_SOURCE) {
                    if (!read(backend, call, mine, mine.source(), false)) {
                        long _ = changed.awaitNanos(call.deadline().remainingNanos());
                    }
                } else if (readAny(backend, call, mine)) {
                    pause = MIN_PAUSE_NANOS;
                } else {
                    departed = checkDepartures(mine, departed);
                    long _ = changed.awaitNanos(pause);
                    pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "interrupted while waiting for a message", e);
        } finally {
            lock.unlock();
        }
    }

    /** Reads one message of each stream that has one; whether there was any. */
    private boolean readAny(Backend backend, Call call, Posted mine) {
        boolean any = false;
        for (int source = 0; source < group.size(); source++) {
            any |= source != group.rank() && read(backend, call, mine, source, true);
        }
        return any;
    }

    /**
     * Reads the next message of a stream, without the lock, unless somebody else does.
     *
     * @param mine the receive of whoever reads, who completes it
     * @param onlyIfThere return rather than wait for it to be sent
     * @return whether one was read
     */
    private boolean read(Backend backend, Call call, Posted mine, int source, boolean onlyIfThere) {
        if (isRead[source]) {
            return false;
        }
        isRead[source] = true;
        lock.unlock();
        try {
            if (onlyIfThere && !backend.hasMessage(source)) {
                return false;
            }
            Posted done = readMessage(backend, call, source);
            if (done != null && done != mine) {
                completions.execute(done::complete);
            }
            return true;
        } finally {
            lock.lock();
            isRead[source] = false;
            changed.signalAll();
        }
    }

    /** The receive that got the message, if one did. */
    private @Nullable Posted readMessage(Backend backend, Call call, int source) {
        long sequence = received[source]++;
        Envelope envelope = backend.next(
                call.part(sequence, OpKind.RECV, ReduceOp.SUM, 0, source, MemorySegment.NULL, MemorySegment.NULL));
        Posted receive = take(source, sequence, envelope);
        MemorySegment target =
                receive == null ? Arena.ofAuto().allocate(envelope.bytes(), Long.BYTES) : receive.target(envelope);
        try {
            backend.receive(call.receiving(sequence, source, envelope, target));
            if (receive == null) {
                return keep(new Early(source, sequence, envelope, target));
            }
            receive.arrive(source, envelope);
            return receive;
        } finally {
            if (receive != null) {
                receive.filling(false);
            }
        }
    }

    private @Nullable Posted take(int source, long sequence, Envelope envelope) {
        lock.lock();
        try {
            Posted receive = matches.take(source, sequence, envelope);
            if (receive != null) {
                receive.filling(true);
            }
            return receive;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Posted keep(Early message) {
        lock.lock();
        try {
            Posted receive = matches.keep(message);
            return receive == null || !receive.hasArrived() ? null : receive;
        } finally {
            lock.unlock();
        }
    }

    private CommException timedOut(Call call, Posted mine) {
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                mine.describe() + " on group " + group.name() + " timed out after "
                        + call.deadline().timeout().toSeconds() + " s: " + group.describe(group.rank())
                        + " has got no message that fits. Look at the tags, and at what the senders do.");
    }

    /**
     * Throws when a rank has left that somebody waits for, and nothing more can come of it.
     *
     * @param since when the first one was found to have left; 0: none so far
     * @return the same from now on
     */
    private long checkDepartures(Posted mine, long since) {
        for (int source = 0; group.health().isImpaired() && source < group.size(); source++) {
            String how = group.health().departure(source);
            if (how != null && since == 0) {
                return System.nanoTime();
            }
            if (how != null && System.nanoTime() - since > DEPARTURE_GRACE_NANOS) {
                throw new CommException(
                        ErrorCode.PEER_LOST,
                        group.describe(source) + " " + how + " while " + group.describe(group.rank())
                                + " waited in " + mine.describe() + " on group " + group.name()
                                + ". Ranks that others may still wait for end with a barrier.");
            }
        }
        return since;
    }

    /** Those who wait look at the group's health again. */
    void healthChanged() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean awaitEnd(Deadline deadline) {
        boolean interrupted = false;
        lock.lock();
        try {
            while (active > 0 && !deadline.passed()) {
                try {
                    long _ = changed.awaitNanos(deadline.remainingNanos());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return active == 0;
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
