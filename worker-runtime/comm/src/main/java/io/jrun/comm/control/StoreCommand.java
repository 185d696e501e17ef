package io.jrun.comm.control;

import java.util.List;
import java.util.Optional;

/** One command to the job's store. {@code Store} documents the commands. */
public sealed interface StoreCommand {
    /** Sets a key. */
    record Set(String key, Bytes value) implements StoreCommand {}

    /** Waits for a key and reads it. */
    record Get(String key, long timeoutMillis) implements StoreCommand {}

    /** Waits for all keys. */
    record Await(List<String> keys, long timeoutMillis) implements StoreCommand {
        public Await {
            keys = List.copyOf(keys);
        }
    }

    /** Adds to a number. The value of the reply is the sum in ASCII decimal. */
    record Add(String key, long delta) implements StoreCommand {}

    /**
     * Replaces a value if the current value is the expected value (empty: absent). The reply has the value afterwards.
     */
    record CompareAndSet(String key, Optional<Bytes> expected, Bytes desired) implements StoreCommand {}

    /** Removes a key. The reply has an empty value if the key existed. */
    record Delete(String key) implements StoreCommand {}
}
