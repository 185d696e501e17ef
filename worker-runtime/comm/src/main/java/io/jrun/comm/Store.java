package io.jrun.comm;

import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * The job's key-value store. It lives with the coordinator, outside every worker, so no worker's death loses it. All
 * methods are thread-safe, block until the coordinator has answered, and see one total order of updates.
 */
public interface Store {
    /** Sets {@code key}, replacing an earlier value. */
    void set(String key, byte[] value);

    /**
     * Returns the value of {@code key}, waiting until some rank has set it.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if it is not set within {@code timeout}
     */
    byte[] get(String key, Duration timeout);

    /**
     * Waits until every key is set.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT naming the missing keys if that takes longer than {@code timeout}
     */
    void await(Collection<String> keys, Duration timeout);

    /**
     * Adds {@code delta} to the decimal number at {@code key} (absent counts as 0) and returns the sum. The value stays
     * readable with {@link #get} as ASCII decimal.
     */
    long add(String key, long delta);

    /**
     * Sets {@code key} to {@code desired} if its value equals {@code expected} ({@code null}: if it is absent).
     *
     * @return the value after the call: {@code desired} if it was set, else what stands there ({@code null}: absent)
     */
    byte @Nullable [] compareAndSet(String key, byte @Nullable [] expected, byte[] desired);

    /** Removes {@code key}; returns whether it was there. */
    boolean delete(String key);
}
