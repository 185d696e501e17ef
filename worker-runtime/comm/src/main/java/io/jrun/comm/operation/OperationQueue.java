package io.jrun.comm.operation;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.ProgressThread;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs operations one after another in call order: a synchronous one on its caller's thread when nothing is before it,
 * everything else on a progress thread of its own. The thread is a daemon, starts with the first asynchronous operation and
 * parks in Java while idle, so that it does not hold up the VM's exit. Thread-safe.
 */
public final class OperationQueue implements PendingOperations {
    /** A bound on forgotten work; at this depth the program is not waiting for anything it starts. */
    private static final int MAX_QUEUED = 1 << 16;

    /** In place of a number where others are before an operation. */
    public static final long OCCUPIED = -1;

    /** An operation; {@code sequence} is its number in this lane. */
    public interface Task {
        /** It has to wait for others; called once at most, before {@link #run}. */
        void queued(long sequence);

        void run(long sequence);
    }

    private final String name;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<QueuedOperation> queue = new ArrayDeque<>();
    private long nextSequence;
    private boolean busy;
    private boolean closed;
    private @Nullable ProgressThread progress;

    public OperationQueue(String name) {
        this.name = name;
    }

    /** Runs {@code task} after everything called before it, and returns when it is done. */
    public void run(Task task) {
        long sequence = enter();
        if (sequence == OCCUPIED) {
            submit(task).await();
            return;
        }
        try {
            task.run(sequence);
        } finally {
            leave();
        }
    }

    /**
     * Begins an operation of the current thread if nothing is before it; {@link #leave} ends it.
     *
     * @return its number, or {@link #OCCUPIED}
     */
    public long enter() {
        refuseWaiting(name);
        lock.lock();
        try {
            if (busy || !queue.isEmpty()) {
                return OCCUPIED;
            }
            checkOpen();
            busy = true;
            return nextSequence++;
        } finally {
            lock.unlock();
        }
    }

    /** Queues {@code task} after everything called before it. */
    public Work submit(Task task) {
        lock.lock();
        try {
            return enqueue(task).work();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean awaitEnd(Deadline deadline) {
        boolean interrupted = false;
        lock.lock();
        try {
            while ((busy || !queue.isEmpty()) && !deadline.passed()) {
                try {
                    long _ = changed.awaitNanos(deadline.remainingNanos());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return !busy && queue.isEmpty();
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Throws on a progress thread: an operation that is waited for there may be queued behind the one whose continuation
     * waits, on this lane or round a circle of lanes, and nothing would ever end that.
     */
    public static void refuseWaiting(String what) {
        if (Thread.currentThread() instanceof ProgressThread) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + ": a continuation of Work.future() waits on the thread that runs the operations. Hand it to"
                            + " another one: future().thenRunAsync(..., executor).");
        }
    }

    private QueuedOperation enqueue(Task task) {
        checkOpen();
        if (queue.size() >= MAX_QUEUED) {
            throw new CommException(
                    ErrorCode.USAGE, queue.size() + " operations are queued on " + name + ". Await some of them.");
        }
        QueuedOperation operation = new QueuedOperation(task, nextSequence++);
        operation.queued();
        queue.add(operation);
        if (progress == null) {
            progress = ProgressThread.ofOperations(name, this::serve);
            progress.start();
        }
        changed.signalAll();
        return operation;
    }

    private void checkOpen() {
        if (closed) {
            throw closed(name);
        }
    }

    public static CommException closed(String what) {
        return new CommException(ErrorCode.USAGE, what + " is closed. Do not use a group after closing it.");
    }

    private void serve() {
        for (QueuedOperation next = take(); next != null; next = take()) {
            try {
                next.run();
            } finally {
                leave();
            }
        }
    }

    private @Nullable QueuedOperation take() {
        lock.lock();
        try {
            while (true) {
                if (!busy && !queue.isEmpty()) {
                    busy = true;
                    return queue.remove();
                }
                if (closed && queue.isEmpty()) {
                    return null;
                }
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    public void leave() {
        lock.lock();
        try {
            busy = false;
            if (closed || !queue.isEmpty()) {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }
}
