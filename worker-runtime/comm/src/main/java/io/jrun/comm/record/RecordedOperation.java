package io.jrun.comm.record;

import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;

/**
 * One operation as the recorder has it.
 *
 * @param group name of its group
 * @param sequence as of its call
 * @param fingerprint see {@link Fingerprint}
 * @param count as of its call
 * @param label the same
 * @param queuedNanos {@link System#nanoTime()} at which it was called
 * @param startedNanos the same for its start; 0 if it has not started
 * @param endedNanos the same for its end; 0 if it has not ended, or is too small for a look at the clock
 * @param lateRank world rank that came last, if this rank had to wait for it; else -1
 * @param lateNanos how long it waited, from its own start on
 */
public record RecordedOperation(
        String group,
        long sequence,
        long fingerprint,
        long count,
        long label,
        OperationState state,
        long queuedNanos,
        long startedNanos,
        long endedNanos,
        int lateRank,
        long lateNanos) {
    /** Whether it is over, by how it went on, though it has no time of its end. */
    boolean isUnclocked() {
        return state == OperationState.COMPLETED && endedNanos == 0;
    }

    boolean isMessage() {
        return Fingerprint.kind(fingerprint).isMessage();
    }

    /** Of a message, what it is. */
    Envelope envelope() {
        return Envelope.of(label, Fingerprint.type(fingerprint), count);
    }

    /** How messages name it. */
    public String describe() {
        OpKind kind = Fingerprint.kind(fingerprint);
        return kind.isMessage()
                ? Fingerprint.describe(sequence, fingerprint, envelope().amount(kind))
                : Fingerprint.describe(sequence, fingerprint, count);
    }
}
