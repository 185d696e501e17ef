package io.jrun.comm.backend;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * How a rank that has found its group's failure spends the second within which it reports it. Each wait ends at a time counted
 * from the finding, not from its own beginning, so that all of them together keep within it. Of a group and all parts of its
 * data plane. Thread-safe.
 */
public final class FailureDeadline {
    /** What is waited for, in this order; each takes milliseconds, a hundred times that where ten threads want each core. */
    public enum Wait {
        /** The agent's word on how a peer has ended, which takes that one's exit. */
        DEPARTURE(350),
        /** Where the other ranks are. */
        PLACES(450),
        /** The causes that the other ranks know. */
        FAREWELL(650),
        /** The one cause in the job's store. The rest of the second is for what a busy machine adds. */
        CAUSE(900);

        private final long endNanos;

        Wait(long endMillis) {
            this.endNanos = TimeUnit.MILLISECONDS.toNanos(endMillis);
        }
    }

    private final AtomicReference<@Nullable Long> begun = new AtomicReference<>();

    /** An operation of this rank has found the failure; the second begins with the first. */
    public void found() {
        boolean _ = begun.compareAndSet(null, System.nanoTime());
    }

    /** An operation of this rank fails: where it has not found why itself, another has, and has had its time for that. */
    public void failed() {
        boolean _ = begun.compareAndSet(null, System.nanoTime() - Wait.PLACES.endNanos);
    }

    /** Nanoseconds for that wait, zero or negative if none are left; without end where no operation has failed here. */
    public long leftNanos(Wait wait) {
        Long from = begun.get();
        return from == null ? Long.MAX_VALUE : from + wait.endNanos - System.nanoTime();
    }
}
