package io.jrun.launcher.files;

import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Limits the number of file pieces in memory that travel to agents. Transfers without a slot wait in a queue.
 * Thread-safe.
 */
final class SendSlots {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private final int total;
    private int taken;
    private boolean calling;

    SendSlots(int total) {
        this.total = total;
    }

    /** Calls {@code owner} when it has a slot: on this thread at once, or later on the thread that releases a slot. */
    void acquire(Runnable owner) {
        synchronized (this) {
            if (taken == total) {
                waiting.add(owner);
                return;
            }
            taken++;
        }
        owner.run();
    }

    /** Releases a slot. */
    void release() {
        synchronized (this) {
            taken--;
        }
        for (Runnable next = next(true); next != null; next = next(false)) {
            next.run(); // the owner may release its slot at once; the loop prevents nested calls
        }
    }

    private synchronized @Nullable Runnable next(boolean first) {
        if (first && calling) {
            return null; // another call of release() serves the queue, perhaps further down this stack
        }
        calling = taken < total && !waiting.isEmpty();
        if (!calling) {
            return null;
        }
        taken++;
        return waiting.remove();
    }

    /** The number of waiting owners. */
    synchronized int waiting() {
        return waiting.size();
    }

    /** The number of used slots. */
    synchronized int taken() {
        return taken;
    }
}
