package io.jrun.launcher.coordinator;

import java.util.Comparator;
import java.util.PriorityQueue;

/** Virtual time: what is due runs in order, and time passes only between. */
final class SimulatedTime {
    private record Due(long millis, long number, Runnable action) {}

    private final PriorityQueue<Due> queue =
            new PriorityQueue<>(Comparator.comparingLong(Due::millis).thenComparingLong(Due::number));
    private long now;
    private long scheduled;

    long millis() {
        return now;
    }

    void in(long millis, Runnable action) {
        queue.add(new Due(now + millis, scheduled++, action));
    }

    /** Runs the next thing that is due; false if nothing ever will be. */
    boolean step() {
        Due due = queue.poll();
        if (due == null) {
            return false;
        }
        now = due.millis();
        due.action().run();
        return true;
    }
}
