package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ListenerClockTest {
    private static final long MILLI = 1_000_000;

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 50 * MILLI); // overflows on the way, as nanoTime may
    private final ListenerClock clock = new ListenerClock(now::get);

    @Test
    void countsWhileAListenerRuns() {
        long start = clock.getAsLong();
        for (int tick = 0; tick < 100; tick++) {
            now.addAndGet(100 * MILLI);
            assertThat(clock.getAsLong() - start).isEqualTo((tick + 1) * 100L * MILLI);
        }
    }

    @Test
    void standstillDoesNotCount() {
        long start = clock.getAsLong();
        now.addAndGet(3_600_000 * MILLI);
        assertThat(clock.getAsLong() - start).isZero();
        now.addAndGet(100 * MILLI);
        assertThat(clock.getAsLong() - start).isEqualTo(100 * MILLI);
    }

    @Test
    void timerIsNotDueByAStandstill() {
        Timers timers = new Timers(clock);
        timers.start(new CoordinatorInput.JobTimeout(), 150);
        now.addAndGet(3_600_000 * MILLI);
        assertThat(timers.due()).isEmpty();
        now.addAndGet(100 * MILLI);
        assertThat(timers.due()).isEmpty();
        now.addAndGet(100 * MILLI);
        assertThat(timers.due()).contains(new CoordinatorInput.JobTimeout());
    }
}
