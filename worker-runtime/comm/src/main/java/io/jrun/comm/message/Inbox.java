package io.jrun.comm.message;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.operation.OperationQueue;
import io.jrun.comm.operation.PendingOperations;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives each message for one rank of a group to a receive. The messages of each sender are a stream. One of the threads
 * that wait for a sender reads the stream of the sender. The thread gives each message to the earliest posted receive
 * that matches, also to a receive of another thread, and keeps a message without a receive while there is room. A
 * receive from any source reads in turn all streams that no other thread reads. Thread-safe.
 */
public final class Inbox implements PendingOperations {
    private final GroupContext group;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final MessageMatcher matcher;
    private final Consumer<CommException> onFailure;
    /**
     * Completes a receive whose message another thread has read, because the continuations of a receive may call
     * anything.
     */
    private final Executor completions;

    /** A message whose data stays at the sender until a receive matches the message, or until there is room. */
    private record Held(long sequence, Envelope envelope) {}

    private final boolean[] isRead;
    private final @Nullable Held[] held;
    private final long[] received;
    private final long[] posts;
    private int active;
    private boolean closed;

    /**
     * Makes an inbox without messages.
     *
     * @param onFailure fails the group
     */
    public Inbox(GroupContext group, Consumer<CommException> onFailure) {
        this.group = group;
        this.onFailure = onFailure;
        this.matcher = new MessageMatcher(group);
        this.completions = new ThreadPoolExecutor(
                0,
                1,
                1,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                task -> ProgressThread.ofOperations(group.label() + " received", task));
        this.isRead = new boolean[group.size()];
        this.held = new @Nullable Held[group.size()];
        this.received = new long[group.size()];
        this.posts = new long[group.size() + 1];
    }

    /** Posts a receive: messages may go to the receive from now on. {@link #remove} ends every posted receive. */
    public PostedReceive post(Call request, int tag, Deadline deadline) {
        return post(request, tag, false, deadline);
    }

    /** Posts a receive of an object of any size. */
    public PostedReceive postObject(Call request, int tag, Deadline deadline) {
        return post(request, tag, true, deadline);
    }

    private PostedReceive post(Call request, int tag, boolean isObject, Deadline deadline) {
        int source = request.root() == Messages.ANY_SOURCE ? group.size() : request.root();
        lock.lock();
        try {
            if (closed) {
                throw OperationQueue.closed(group.label());
            }
            active++;
            PostedReceive receive = new PostedReceive(request, tag, isObject, posts[source]++, deadline);
            matcher.post(receive);
            changed.signalAll(); // A held message may match the receive or fit into memory now.
            if (receive.hasArrived()) {
                receive.complete(); // The receive has no continuation yet.
            }
            return receive;
        } finally {
            lock.unlock();
        }
    }

    /** Ends a receive, after success or failure. */
    public void remove(PostedReceive receive) {
        lock.lock();
        try {
            matcher.remove(receive);
            active--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns when the receive has its message. Reads streams that no other thread reads. */
    public void await(Backend backend, Call call, PostedReceive mine) {
        AnySourceWait pauses = new AnySourceWait(group, mine, System::nanoTime);
        lock.lock();
        try {
            while (!mine.hasArrived()) {
                if (mine.isFilling()) {
                    awaitFilled(mine);
                    continue;
                }
                mine.checkRejected();
                group.health().check();
                if (mine.deadline().passed()) {
                    throw timedOut(mine);
                }
                if (mine.source() != Messages.ANY_SOURCE) {
                    if (!read(backend, call, mine, mine.source(), false)) {
                        long _ = changed.awaitNanos(call.remainingNanos());
                    }
                } else if (readAny(backend, call, mine)) {
                    pauses.restart();
                } else {
                    long _ = changed.awaitNanos(pauses.nextPauseNanos());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "interrupted while waiting for a message", e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns when no other thread writes into the receive's memory any more. If the deadline passes first, the method
     * fails the group to end the other thread.
     */
    private void awaitFilled(PostedReceive mine) {
        boolean isInterrupted = false;
        boolean isLate = false;
        while (mine.isFilling()) {
            if (isLate) {
                changed.awaitUninterruptibly();
            } else if (mine.deadline().passed()) {
                isLate = true;
                failGroup(timedOut(mine));
            } else {
                try {
                    long _ = changed.awaitNanos(mine.deadline().remainingNanos());
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Fails the group. The caller holds the lock; the method releases the lock meanwhile. */
    private void failGroup(CommException failure) {
        lock.unlock();
        try {
            onFailure.accept(failure);
        } finally {
            lock.lock();
        }
    }

    /** Reads one message of each stream that has a message. Returns whether a message was read. */
    private boolean readAny(Backend backend, Call call, PostedReceive mine) {
        boolean any = false;
        for (int source = 0; source < group.size(); source++) {
            any |= source != group.groupRank() && read(backend, call, mine, source, true);
        }
        return any;
    }

    /**
     * Reads the next message of a stream, without the lock, unless another thread reads the stream.
     *
     * @param mine the receive of the current thread, which completes the receive
     * @param onlyIfThere whether to return at once if the sender has not sent the message yet
     * @return whether a message was read
     */
    private boolean read(Backend backend, Call call, PostedReceive mine, int source, boolean onlyIfThere) {
        Held first = held[source];
        if (isRead[source] || (first != null && !matcher.canArrive(source, first.envelope()))) {
            return false;
        }
        isRead[source] = true;
        boolean isOutOfStep = true;
        lock.unlock();
        try {
            boolean found = first != null || !onlyIfThere || backend.hasMessage(source);
            boolean done = found
                    && readMessage(backend, call, source, first == null ? next(backend, call, source) : first, mine);
            isOutOfStep = false;
            return done;
        } finally {
            lock.lock();
            // A failed reader fails the group. No thread may continue in the middle of a message.
            isRead[source] = isOutOfStep;
            changed.signalAll();
        }
    }

    private Held next(Backend backend, Call call, int source) {
        long sequence = received[source]++;
        Envelope envelope = backend.next(
                call.part(sequence, OpKind.RECV, ReduceOp.SUM, 0, source, MemorySegment.NULL, MemorySegment.NULL));
        return new Held(sequence, envelope);
    }

    /** Returns whether the message was read. A message that was not read is held. */
    private boolean readMessage(Backend backend, Call call, int source, Held message, PostedReceive mine) {
        Envelope envelope = message.envelope();
        PostedReceive receive = null;
        lock.lock();
        try {
            if (!matcher.canArrive(source, envelope)) {
                held[source] = message;
                return false;
            }
            held[source] = null;
            receive = matcher.take(source, message.sequence(), envelope);
            if (receive == null) {
                matcher.reserve(envelope);
            } else {
                receive.filling(true);
            }
        } finally {
            lock.unlock();
        }
        PostedReceive done = receive;
        try {
            MemorySegment target =
                    receive == null ? Arena.ofAuto().allocate(envelope.bytes(), Long.BYTES) : receive.target(envelope);
            backend.receive(call.receiving(message.sequence(), source, envelope, target));
            if (receive == null) {
                done = keep(new UnexpectedMessage(source, message.sequence(), envelope, target));
            } else {
                receive.arrive(source, envelope);
            }
        } finally {
            if (receive != null) {
                receive.filling(false);
            }
        }
        if (done != null && done != mine) {
            completions.execute(done::complete);
        }
        return true;
    }

    private @Nullable PostedReceive keep(UnexpectedMessage message) {
        lock.lock();
        try {
            PostedReceive receive = matcher.keep(message);
            if (receive != null) {
                // The thread that read the message fails the group, as for a message after its receive.
                receive.checkRejected();
            }
            return receive;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the failure of a receive whose deadline has passed. */
    public CommException timedOut(PostedReceive mine) {
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                mine.describe() + " on " + group.label() + " timed out after "
                        + mine.deadline().timeout().toSeconds() + " s: " + group.describe(group.groupRank())
                        + " has no message that matches. Check the tags and the calls of the senders."
                        + heldBack());
    }

    private String heldBack() {
        StringBuilder text = new StringBuilder();
        lock.lock();
        try {
            for (int source = 0; source < held.length; source++) {
                Held message = held[source];
                if (message != null) {
                    text.append(" The next message of ")
                            .append(group.describe(source))
                            .append(" is its ");
                    text.append(message.envelope().describe(message.sequence(), group.groupRank()));
                    text.append(", which is held at the sender: the message has no recv, and the messages")
                            .append(" without a recv would exceed ")
                            .append(Messages.MAX_UNEXPECTED_BYTES)
                            .append(" bytes.");
                }
            }
        } finally {
            lock.unlock();
        }
        return text.toString();
    }

    /** Wakes all waiting threads to check the group's health again. */
    public void healthChanged() {
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
