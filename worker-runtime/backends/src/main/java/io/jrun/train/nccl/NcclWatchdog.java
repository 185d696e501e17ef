package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.ProgressThread;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A thread that detects the end of operations on device memory, since no other thread of the host waits for the
 * operations. If an operation fails, the thread ends the communicator, and all later operations fail too. Thread-safe.
 */
final class NcclWatchdog {
    /** Time between two checks, much shorter than a training step. A shorter time needs more CPU. */
    private static final long ASK_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    private final NcclChannel channel;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<NcclOperation> running = new ArrayDeque<>();
    private boolean closed;
    private @Nullable ProgressThread thread;

    NcclWatchdog(NcclChannel channel) {
        this.channel = channel;
    }

    /** Adds an operation that is queued on the stream after all operations added before. */
    void add(NcclOperation operation) {
        lock.lock();
        try {
            running.add(operation);
            if (thread == null) {
                thread = ProgressThread.ofOperations("nccl watchdog", this::watch);
                thread.start();
            }
            if (running.size() == 1) {
                changed.signalAll(); // Otherwise the thread is awake already.
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until no operation runs, at most until {@code grace}. Afterwards the watchdog accepts no operation. */
    void close(Deadline grace) {
        lock.lock();
        try {
            while (!running.isEmpty() && !grace.passed()) {
                long _ = changed.awaitNanos(grace.remainingNanos());
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        } finally {
            closed = true;
            changed.signalAll();
            lock.unlock();
        }
    }

    private void watch() {
        channel.useDevice(); // Each thread begins with device 0. A question about an event would open a context there.
        for (NcclOperation first = first(); first != null; first = first()) {
            try {
                if (channel.hasEnded(first)) {
                    first.complete(null);
                    removeFirst();
                } else {
                    LockSupport.parkNanos(ASK_NANOS);
                }
            } catch (CommException failure) {
                channel.giveUp(failure);
                first.complete(failure);
                removeFirst();
            }
        }
    }

    /** Waits for the first running operation; null after the close. */
    private @Nullable NcclOperation first() {
        lock.lock();
        try {
            while (running.isEmpty() && !closed) {
                changed.awaitUninterruptibly();
            }
            return running.peek();
        } finally {
            lock.unlock();
        }
    }

    private void removeFirst() {
        lock.lock();
        try {
            running.remove();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
