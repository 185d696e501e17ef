package io.jrun.comm.control;

import io.jrun.comm.control.Frame.StoreReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The connection of a joined rank to the coordinator of its world. Thread-safe. */
public interface Control extends RankLocator {
    /** Asks the store. The id of the reply has no meaning for the caller. Fails if the connection is gone. */
    CompletableFuture<StoreReply> submit(StoreCommand command);

    /** Takes values of a step for the launcher; does not wait. A connection without a launcher drops them. */
    default void report(long step, Map<String, Double> values) {}

    /**
     * Says that this rank takes part in no further collective, and ends the connection; pending requests fail. May do so a
     * moment later. Idempotent.
     */
    void leave();
}
