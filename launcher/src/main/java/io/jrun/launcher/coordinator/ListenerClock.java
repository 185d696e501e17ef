package io.jrun.launcher.coordinator;

import java.util.function.LongSupplier;

/**
 * A clock that counts only the time in which the coordinator was there to listen. It asks at least ten times a second; when
 * a second and more lies between two questions, this process stood still (Ctrl-Z, a suspended machine), and what it waits
 * for may have come long ago without having been read: no deadline may pass meanwhile. Confined to one thread.
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
