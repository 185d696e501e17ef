package io.jrun.comm.record;

import io.jrun.comm.backend.Fingerprint;

/**
 * One operation as the recorder has it.
 *
 * @param group name of its group
 * @param sequence as of its call
 * @param fingerprint see {@link Fingerprint}
 * @param count as of its call
 * @param queuedNanos {@link System#nanoTime()} at which it was called
 * @param startedNanos the same for its start; 0 if it has not started
 * @param endedNanos the same for its end; 0 if it has not ended
 */
public record RecordedOperation(
        String group,
        long sequence,
        long fingerprint,
        long count,
        OperationState state,
        long queuedNanos,
        long startedNanos,
        long endedNanos) {}
