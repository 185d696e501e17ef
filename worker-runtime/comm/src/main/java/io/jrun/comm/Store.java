package io.jrun.comm;

import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * The key-value store of the job. The coordinator holds the store outside every worker, so a worker's death does not
 * lose the store. All methods are thread-safe, block until the coordinator has answered, and see one total order of
 * updates.
 */
public interface Store {
    /** Sets {@code key} and replaces an earlier value. */
    void set(String key, byte[] value);

    /**
     * Returns the value of {@code key}. Waits until some rank has set the key.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if no rank sets the key within {@code timeout}
     */
    byte[] get(String key, Duration timeout);

    /**
     * Waits until every key is set.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if a key is not set within {@code timeout}; the message names the
     *     missing keys
     */
    void await(Collection<String> keys, Duration timeout);

    /**
     * Adds {@code delta} to the decimal number at {@code key} and returns the sum. An absent key counts as 0.
     * {@link #get} returns the value as ASCII decimal.
     */
    long add(String key, long delta);

    /**
     * Sets {@code key} to {@code desired} if its value equals {@code expected} ({@code null}: if the key is absent).
     *
     * @return the value after the call: {@code desired} if the key was set, else the current value ({@code null}:
     *     absent)
     */
    byte @Nullable [] compareAndSet(String key, byte @Nullable [] expected, byte[] desired);

    /** Removes {@code key}. Returns whether the key was present. */
    boolean delete(String key);
}
