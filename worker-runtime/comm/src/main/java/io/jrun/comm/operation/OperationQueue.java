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
 * Runs operations one after another in call order. A blocking operation runs on its caller's thread if no operation is
 * before it. Every other operation runs on a progress thread of the queue. The progress thread is a daemon, starts with
 * the first asynchronous operation and parks in Java while idle, so that the thread does not delay the VM's exit.
 * Thread-safe.
 */
public final class OperationQueue implements PendingOperations {
    /** The limit of queued operations. A program that reaches the limit does not await its operations. */
    private static final int MAX_QUEUED = 1 << 16;

    /** In place of a sequence number: other operations are before the operation. */
    public static final long OCCUPIED = -1;

    /** An operation. {@code sequence} is the number of the operation in this queue. */
    public interface Task {
        /** The operation has to wait for others. Called at most once, before {@link #run}. */
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

    /** Runs {@code task} after all earlier operations, and returns when the task is done. */
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
     * Begins an operation of the current thread if no operation is before it. {@link #leave} ends the operation.
     *
     * @return the sequence number of the operation, or {@link #OCCUPIED}
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

    /** Queues {@code task} after all earlier operations. */
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
     * Throws on a progress thread. An operation that a continuation awaits may be queued behind the operation of the
     * continuation, on this queue or over a cycle of queues. The wait would then never end.
     */
    public static void refuseWaiting(String what) {
        if (Thread.currentThread() instanceof ProgressThread) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + ": a continuation of Work.future() waits on the thread that runs the operations. Run the"
                            + " continuation on another thread: future().thenRunAsync(..., executor).");
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
