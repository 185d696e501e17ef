package io.jrun.train.fsdp;

/**
 * One collective of one unit on this rank, or one read or write of the unit's offloaded rows. Times are
 * {@link System#nanoTime}.
 *
 * @param unit the name of the unit
 * @param bytes the bytes that this rank contributes to the collective and takes from it, or reads or writes
 * @param launchedNanos when the operation was queued
 * @param endedNanos when the operation ended
 * @param waitedNanos the time for which the training thread waited for the operation
 */
public record CommunicationSpan(
        String unit, Kind kind, long bytes, long launchedNanos, long endedNanos, long waitedNanos) {
    /** The kind of a collective. */
    public enum Kind {
        /** All-gather of parameters. */
        GATHER,
        /** Reduce-scatter of gradients. */
        REDUCE,
        /** All-reduce of a gradient shard over replicas. */
        REPLICATE,
        /** Read of offloaded parameters or gradients. */
        READ,
        /** Write of offloaded gradients. */
        WRITE;

        /** Whether other ranks take part. */
        public boolean isCollective() {
            return this != READ && this != WRITE;
        }
    }

    /** The part of the operation that ran while the training thread computed, in nanoseconds. */
    public long overlapNanos() {
        return Math.max(0, endedNanos - launchedNanos - waitedNanos);
    }
}
