package io.jrun.train.fsdp;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Reads the offloaded rows of units before the units are gathered. The rows of at most two units are in memory: one
 * unit is read while the rows of the other are used. Does nothing for units in memory. Confined to the training thread.
 */
final class ReadAhead {
    private static final int BUFFERS = 2;

    private final Deque<FsdpUnit> reading = new ArrayDeque<>();

    /** Begins to read unit {@code at} of an order, if the order has the unit. */
    void begin(List<FsdpUnit> order, int at) {
        if (at >= 0 && at < order.size()) {
            begin(order.get(at));
        }
    }

    /** Begins to read a unit, if the unit's next gather reads it. */
    void begin(FsdpUnit unit) {
        if (!unit.readsBeforeGather()) {
            return;
        }
        reading.removeIf(other -> !other.isReading());
        while (reading.size() >= BUFFERS) {
            reading.remove().dropRead(); // the pass has taken another order
        }
        unit.beginRead();
        reading.add(unit);
    }
}
