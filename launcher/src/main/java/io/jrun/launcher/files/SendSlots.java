package io.jrun.launcher.files;

import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** How many pieces of files may be in memory at once, on their way to all agents. Whoever finds no slot waits in turn. Thread-safe. */
final class SendSlots {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private final int total;
    private int taken;
    private boolean calling;

    SendSlots(int total) {
        this.total = total;
    }

    /** Calls {@code owner}, which then has a slot: on this thread, or later on the thread of whoever gives one back. */
    void take(Runnable owner) {
        synchronized (this) {
            if (taken == total) {
                waiting.add(owner);
                return;
            }
            taken++;
        }
        owner.run();
    }

    /** Gives a slot back. */
    void giveBack() {
        synchronized (this) {
            taken--;
        }
        for (Runnable next = next(true); next != null; next = next(false)) {
            next.run(); // may give its slot back at once: calls follow each other instead of nesting
        }
    }

    private synchronized @Nullable Runnable next(boolean first) {
        if (first && calling) {
            return null; // another call of giveBack() sees to it, perhaps further down this stack
        }
        calling = taken < total && !waiting.isEmpty();
        if (!calling) {
            return null;
        }
        taken++;
        return waiting.remove();
    }

    /** How many owners wait now. */
    synchronized int waiting() {
        return waiting.size();
    }

    /** How many slots are taken now. */
    synchronized int taken() {
        return taken;
    }
}
