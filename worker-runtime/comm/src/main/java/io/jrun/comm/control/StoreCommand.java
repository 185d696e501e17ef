package io.jrun.comm.control;

import java.util.List;
import java.util.Optional;

/** One command to the job's store; {@code Store} says what each means. */
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

    /** Adds to a number; the reply's value is the sum in ASCII decimal. */
    record Add(String key, long delta) implements StoreCommand {}

    /** Replaces a value if it is as expected (empty: absent); the reply's value is what stands there afterwards. */
    record CompareAndSet(String key, Optional<Bytes> expected, Bytes desired) implements StoreCommand {}

    /** Removes a key; the reply has an (empty) value if it was there. */
    record Delete(String key) implements StoreCommand {}
}
