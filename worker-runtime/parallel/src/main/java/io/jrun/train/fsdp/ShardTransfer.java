package io.jrun.train.fsdp;

/** A read or a write of a {@link ShardOffload} under way. */
@FunctionalInterface
public interface ShardTransfer {
    /**
     * Waits for the end. The transfer has a deadline, so the wait ends.
     *
     * @return when the transfer ended, as {@link System#nanoTime}
     * @throws RuntimeException if the transfer failed; the message names the unit and the file
     */
    long await();
}
