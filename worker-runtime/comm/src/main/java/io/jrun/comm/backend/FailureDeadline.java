package io.jrun.comm.backend;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The division of the second in which a rank reports its group's failure after finding it. Each wait ends at a fixed
 * time after the finding, so that all waits together stay within the second. Shared by a group and all parts of its
 * data plane. Thread-safe.
 */
public final class FailureDeadline {
    /**
     * The waits, in this order. Each takes milliseconds, and a hundred times as long if ten threads compete for each
     * core.
     */
    public enum Wait {
        /** The agent's report of a peer's end, which follows the peer's exit. */
        DEPARTURE(350),
        /** The locations of the other ranks. */
        LOCATIONS(450),
        /** The causes that the other ranks know. */
        GOSSIP(650),
        /** The agreed cause in the job's store. The rest of the second is a reserve for a busy machine. */
        CAUSE(900);

        private final long endNanos;

        Wait(long endMillis) {
            this.endNanos = TimeUnit.MILLISECONDS.toNanos(endMillis);
        }
    }

    private final AtomicReference<@Nullable Long> begun = new AtomicReference<>();

    /** Records that an operation of this rank has found the failure. The second begins with the first call. */
    public void found() {
        boolean _ = begun.compareAndSet(null, System.nanoTime());
    }

    /**
     * Records that an operation of this rank has failed. If another operation has found the cause, the first two waits
     * are over.
     */
    public void failed() {
        boolean _ = begun.compareAndSet(null, System.nanoTime() - Wait.LOCATIONS.endNanos);
    }

    /**
     * Nanoseconds left for a wait, zero or negative after its end; unlimited if no operation of this rank has failed.
     */
    public long leftNanos(Wait wait) {
        Long from = begun.get();
        return from == null ? Long.MAX_VALUE : from + wait.endNanos - System.nanoTime();
    }
}
