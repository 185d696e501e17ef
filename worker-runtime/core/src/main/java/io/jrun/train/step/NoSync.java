package io.jrun.train.step;

/**
 * A scope in which backward passes add to this rank's own gradients and send none. The first pass after the scope
 * exchanges the sum. Scopes nest. Ranks that share gradients hold whole gradients meanwhile.
 */
public final class NoSync implements AutoCloseable {
    private final Runnable end;

    /**
     * Opens a scope. For parallelisms, which have stopped their exchange.
     *
     * @param end goes on with the exchange
     */
    public NoSync(Runnable end) {
        this.end = end;
    }

    @Override
    public void close() {
        end.run();
    }
}
