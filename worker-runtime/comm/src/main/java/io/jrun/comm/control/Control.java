package io.jrun.comm.control;

import io.jrun.comm.control.Frame.StoreReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The connection of a joined rank to the coordinator of its world. Thread-safe. */
public interface Control extends RankLocator {
    /**
     * Sends a command to the store. The id of the reply has no meaning for the caller. Fails if the connection has
     * ended.
     */
    CompletableFuture<StoreReply> submit(StoreCommand command);

    /** Queues values of a step for the launcher. Does not wait. A connection without a launcher drops the values. */
    default void report(long step, Map<String, Double> values) {}

    /**
     * Queues the place of this rank in a mesh for the launcher. Does not wait. A connection without a launcher drops
     * the place.
     */
    default void reportPlace(String place) {}

    /**
     * Reports that this rank takes part in no further collective, and ends the connection. Pending requests fail. Both
     * may happen a moment later. Idempotent.
     */
    void leave();
}
