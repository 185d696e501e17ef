package io.jrun.launcher.coordinator;

import java.util.Comparator;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.function.LongSupplier;

/** Inputs that are due after a delay. Confined to the coordinator's thread. */
final class Timers {
    private record Timer(long deadlineNanos, CoordinatorInput event) {}

    private final LongSupplier nanoTime;
    private final PriorityQueue<Timer> timers =
            new PriorityQueue<>(Comparator.comparingLong(timer -> timer.deadlineNanos));

    Timers(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    void start(CoordinatorInput event, long millis) {
        timers.add(new Timer(nanoTime.getAsLong() + millis * 1_000_000, event));
    }

    /** Removes and returns the oldest input that is due. */
    Optional<CoordinatorInput> due() {
        Timer first = timers.peek();
        if (first == null || first.deadlineNanos() - nanoTime.getAsLong() > 0) {
            return Optional.empty();
        }
        timers.remove();
        return Optional.of(first.event());
    }

    /** Nanoseconds until the next input, at least 0; {@code Long.MAX_VALUE} without inputs. */
    long nanosLeft() {
        Timer first = timers.peek();
        return first == null ? Long.MAX_VALUE : Math.max(0, first.deadlineNanos() - nanoTime.getAsLong());
    }
}
