package io.jrun.comm.control;

import io.jrun.comm.control.Frame.StoreReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A rank's connection to whoever coordinates its world, after it has joined. Thread-safe. */
public interface Control extends RankLocator {
    /** Asks the store; the reply's id has no meaning to the caller. Fails exceptionally when the connection is gone. */
    CompletableFuture<StoreReply> submit(StoreCommand command);

    /** Takes values of a step for the launcher; does not wait. A connection without a launcher drops them. */
    default void report(long step, Map<String, Double> values) {}

    /**
     * Says that this rank takes part in no further collective, and ends the connection; pending requests fail. May do so a
     * moment later. Idempotent.
     */
    void leave();
}
