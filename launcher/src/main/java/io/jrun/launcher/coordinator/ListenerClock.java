package io.jrun.launcher.coordinator;

import java.util.function.LongSupplier;

/**
 * A clock that counts only the time in which the coordinator runs. The coordinator reads the clock at least ten times a
 * second. If one second or more lies between two reads, this process was stopped (Ctrl-Z, a suspended machine).
 * Messages that arrived meanwhile are not read yet, so no deadline may pass during the pause. Confined to one thread.
 */
final class ListenerClock implements LongSupplier {
    private static final long STANDSTILL_NANOS = 1_000_000_000;

    private final LongSupplier nanoTime;
    private long last;
    private long missed;

    ListenerClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.last = nanoTime.getAsLong();
    }

    @Override
    public long getAsLong() {
        long now = nanoTime.getAsLong();
        if (now - last >= STANDSTILL_NANOS) {
            missed += now - last;
        }
        last = now;
        return now - missed;
    }
}
