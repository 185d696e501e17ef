package io.jrun.comm;

import io.jrun.comm.Messages.Received;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
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
    /** A bound on messages that nobody has asked for yet; beyond it, probably nobody ever will. */
    static final long MAX_EARLY_BYTES = 256 << 20;

    /** Between two looks at all streams: the price of a wait for any source in time, at the end and at the beginning. */
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private static final long MIN_PAUSE_NANOS = 10_000;

    /** How long what a rank sent before it left may be on its way. */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final GroupContext group;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final List<Posted> posted = new ArrayList<>();
    private final List<Early> early = new ArrayList<>();
    private final boolean[] isRead;
    private final long[] received;
    private final long[] posts;
    private long earlyBytes;
    private int active;
    private boolean closed;

    Inbox(GroupContext group) {
        this.group = group;
        this.isRead = new boolean[group.size()];
        this.received = new long[group.size()];
        this.posts = new long[group.size() + 1];
    }

    /** A message that came before a receive for it. */
    private record Early(int source, long sequence, Envelope envelope, MemorySegment data) {}

    /** A receive from when it is called. */
    static final class Posted implements Messages.Receipt {
        private final Request request;
        private final int tag;
        private final boolean isObject;
        private final long sequence;
        private final Pending work = new Pending();
        private byte[] object = {};
        private volatile @Nullable Received arrived;
        private volatile @Nullable CommException mismatch;

        private Posted(Request request, int tag, boolean isObject, long sequence) {
            this.request = request;
            this.tag = tag;
            this.isObject = isObject;
            this.sequence = sequence;
        }

        /** Its number among the receives from the same source. */
        long sequence() {
            return sequence;
        }

        /** The bytes of an object that has arrived. */
        byte[] object() {
            return object;
        }

        Received arrived() {
            Received result = arrived;
            if (result == null) {
                throw new IllegalStateException("nothing has arrived");
            }
            return result;
        }

        void complete() {
            work.complete();
        }

        void fail(Throwable failure) {
            work.fail(failure);
        }

        private boolean fits(int source, Envelope envelope) {
            return tag == envelope.tag() && (request.root() == source || request.root() == Messages.ANY_SOURCE);
        }

        private boolean agrees(Envelope envelope) {
            return isObject == envelope.isObject()
                    && (isObject || (request.type() == envelope.type() && request.count() == envelope.count()));
        }

        private MemorySegment target(Envelope envelope) {
            if (isObject) {
                object = new byte[(int) envelope.count()];
                return MemorySegment.ofArray(object);
            }
            return request.output();
        }

        private String describe() {
            String amount =
                    (isObject ? "an object" : Long.toString(request.count())) + (tag == 0 ? "" : ", tag " + tag);
            return Call.describe(sequence, OpKind.RECV, request.type(), ReduceOp.SUM, amount, request.root());
        }

        @Override
        public Received received() {
            await();
            return arrived();
        }

        @Override
        public void await() {
            work.await();
        }

        @Override
        public void await(Duration timeout) {
            work.await(timeout);
        }

        @Override
        public boolean isDone() {
            return work.isDone();
        }

        @Override
        public Optional<Throwable> exception() {
            return work.exception();
        }

        @Override
        public CompletableFuture<Void> future() {
            return work.future();
        }
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
            for (Iterator<Early> kept = early.iterator(); kept.hasNext(); ) {
                Early message = kept.next();
                if (receive.fits(message.source(), message.envelope())) {
                    kept.remove();
                    earlyBytes -= message.envelope().bytes();
                    take(message, receive);
                    return receive;
                }
            }
            posted.add(receive);
            return receive;
        } finally {
            lock.unlock();
        }
    }

    private void take(Early message, Posted receive) {
        Envelope envelope = message.envelope();
        if (receive.agrees(envelope)) {
            MemorySegment.copy(message.data(), 0, receive.target(envelope), 0, envelope.bytes());
            receive.arrived = new Received(message.source(), envelope.tag(), envelope.count());
            receive.complete();
        } else {
            receive.mismatch = mismatch(message.source(), message.sequence(), envelope, receive);
        }
    }

    /** A receive is over, one way or the other. */
    void forget(Posted receive) {
        lock.lock();
        try {
            posted.remove(receive);
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
            while (mine.arrived == null) {
                CommException mismatch = mine.mismatch;
                if (mismatch != null) {
                    throw mismatch;
                }
                group.health().check();
                if (call.deadline().passed()) {
                    throw timedOut(call, mine);
                }
                if (mine.request.root() != Messages.ANY_SOURCE) {
                    if (!read(backend, call, mine.request.root(), false)) {
                        long _ = changed.awaitNanos(call.deadline().remainingNanos());
                    }
                } else if (readAny(backend, call)) {
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
    private boolean readAny(Backend backend, Call call) {
        boolean any = false;
        for (int source = 0; source < group.size(); source++) {
            any |= source != group.rank() && read(backend, call, source, true);
        }
        return any;
    }

    /**
     * Reads the next message of a stream, without the lock, unless somebody else does.
     *
     * @param onlyIfThere return rather than wait for it to be sent
     * @return whether one was read
     */
    private boolean read(Backend backend, Call call, int source, boolean onlyIfThere) {
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
            if (done != null) {
                done.complete();
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
        long[] words = Envelope.words();
        backend.run(Envelope.receivedFrom(source, sequence, words, call));
        Envelope envelope = Envelope.of(words);
        Posted receive = take(source, sequence, envelope);
        MemorySegment target =
                receive == null ? Arena.ofAuto().allocate(envelope.bytes(), Long.BYTES) : receive.target(envelope);
        if (envelope.count() > 0) {
            backend.run(new Call(
                    sequence,
                    OpKind.RECV,
                    envelope.type(),
                    ReduceOp.SUM,
                    envelope.count(),
                    source,
                    target,
                    target,
                    call.deadline(),
                    null,
                    null,
                    call));
        }
        if (receive == null) {
            keep(new Early(source, sequence, envelope, target));
        } else {
            receive.arrived = new Received(source, envelope.tag(), envelope.count());
        }
        return receive;
    }

    /** Takes the first receive that a message fits out of those that wait; null if it came early. */
    private @Nullable Posted take(int source, long sequence, Envelope envelope) {
        lock.lock();
        try {
            for (Iterator<Posted> waiting = posted.iterator(); waiting.hasNext(); ) {
                Posted receive = waiting.next();
                if (receive.fits(source, envelope)) {
                    if (!receive.agrees(envelope)) {
                        throw mismatch(source, sequence, envelope, receive);
                    }
                    waiting.remove();
                    return receive;
                }
            }
            if (earlyBytes + envelope.bytes() > MAX_EARLY_BYTES) {
                throw new CommException(
                        ErrorCode.COLLECTIVE_MISMATCH,
                        describe(source) + " called " + envelope.describe(sequence, group.rank()) + " on group "
                                + group.name() + ", but " + describe(group.rank())
                                + " has called no recv for it, and the messages it has not asked for have "
                                + earlyBytes + " bytes already (expected at most " + MAX_EARLY_BYTES
                                + " in all). Call the receives earlier, or in the order of the sends.");
            }
            earlyBytes += envelope.bytes();
            return null;
        } finally {
            lock.unlock();
        }
    }

    private void keep(Early message) {
        lock.lock();
        try {
            // A receive for it may have been called while it was read.
            for (Iterator<Posted> waiting = posted.iterator(); waiting.hasNext(); ) {
                Posted receive = waiting.next();
                if (receive.fits(message.source(), message.envelope())) {
                    waiting.remove();
                    earlyBytes -= message.envelope().bytes();
                    take(message, receive);
                    return;
                }
            }
            early.add(message);
        } finally {
            lock.unlock();
        }
    }

    private CommException mismatch(int source, long sequence, Envelope envelope, Posted receive) {
        return new CommException(
                ErrorCode.COLLECTIVE_MISMATCH,
                describe(source) + " called " + envelope.describe(sequence, group.rank()) + ", "
                        + describe(group.rank()) + " called " + receive.describe() + " on group " + group.name()
                        + ". A message and its receive must have the same type and count.");
    }

    private String describe(int groupRank) {
        return "rank " + group.members().get(groupRank).rank();
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
