package io.jrun.comm.store;

import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** A command that waits until all its keys exist. Not thread-safe. */
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

    /** Returns the missing key that the last search found. */
    String lacking() {
        return keys.get(next);
    }

    /**
     * Returns one of the command's keys that is not in {@code present}; empty if all are. The search continues at the
     * last missing key, so that keys that appear one by one are not all checked each time.
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
