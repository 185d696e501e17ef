package io.jrun.comm.staging;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.ProgressThread;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A thread that detects that results are back in device memory. The thread reads words in host memory and makes no call
 * of CUDA. It starts with the first operation, and parks while no operation returns. Thread-safe.
 */
final class ReturnWatch {
    /** Time between two checks, much shorter than a training step. A shorter time needs more CPU. */
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    private record Entry(Returning operation, Call call) {}

    private final GroupContext group;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Entry> returning = new ArrayDeque<>();
    private boolean isClosed;
    private @Nullable ProgressThread thread;

    ReturnWatch(GroupContext group) {
        this.group = group;
    }

    /** Adds an operation whose chunks the host has handled. */
    void add(Returning operation, Call call) {
        lock.lock();
        try {
            if (returning.isEmpty() && operation.hasReturned()) {
                operation.complete(null);
                return;
            }
            returning.add(new Entry(operation, call));
            if (thread == null) {
                thread = ProgressThread.ofOperations(group.label() + " device copies", this::watch);
                thread.start();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all operations have returned or failed, at most until {@code grace}. Then ends the thread. */
    void close(Deadline grace) {
        lock.lock();
        try {
            while (!returning.isEmpty() && !grace.passed()) {
                long _ = changed.awaitNanos(grace.remainingNanos());
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        } finally {
            isClosed = true;
            changed.signalAll();
            lock.unlock();
        }
    }

    private void watch() {
        for (Entry first = first(); first != null; first = first()) {
            if (first.operation().hasReturned()) {
                removeFirst(first, null);
            } else if (first.call().deadline().passed()) {
                removeFirst(first, late(first));
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private CommException late(Entry entry) {
        Call call = entry.call();
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                call.describe() + " on " + group.label() + " timed out after "
                        + call.timeout().toSeconds() + " s: " + group.describe(group.groupRank())
                        + " waits for its device " + entry.operation().device()
                        + ", which has not yet copied the result to device memory. Check the device with nvidia-smi.");
    }

    private @Nullable Entry first() {
        lock.lock();
        try {
            while (returning.isEmpty() && !isClosed) {
                changed.awaitUninterruptibly();
            }
            return returning.peek();
        } finally {
            lock.unlock();
        }
    }

    private void removeFirst(Entry entry, @Nullable CommException failure) {
        entry.operation().complete(failure);
        lock.lock();
        try {
            boolean _ = returning.remove(entry);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
