package io.jrun.comm.store;

import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** A command that waits until all its keys are there. Not thread-safe. */
final class StoreWaiter {
    private final long id;
    private final StoreCommand command;
    private final List<String> keys;
    private final long deadlineNanos;
    private final Consumer<StoreReply> sink;
    private int next;

    StoreWaiter(long id, StoreCommand command, List<String> keys, long deadlineNanos, Consumer<StoreReply> sink) {
        this.id = id;
        this.command = command;
        this.keys = keys;
        this.deadlineNanos = deadlineNanos;
        this.sink = sink;
    }

    long id() {
        return id;
    }

    StoreCommand command() {
        return command;
    }

    List<String> keys() {
        return keys;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    Consumer<StoreReply> sink() {
        return sink;
    }

    /** The key that was missing when it was asked last. */
    String lacking() {
        return keys.get(next);
    }

    /**
     * One of its keys that is not among {@code present}; empty if all are. Goes on where it found the last one, so that keys which
     * come one by one are not all looked up at each.
     */
    Optional<String> missing(Set<String> present) {
        for (int seen = 0; seen < keys.size(); seen++) {
            String key = keys.get(next);
            if (!present.contains(key)) {
                return Optional.of(key);
            }
            next = (next + 1) % keys.size();
        }
        return Optional.empty();
    }
}
