package io.jrun.train.fsdp;

/**
 * A scope in which backward passes add up whole gradients on each rank and send none. The first pass after the scope
 * reduces the sum. Each rank holds 4 bytes more for each parameter of float32 meanwhile.
 */
public final class FsdpNoSync implements AutoCloseable {
    private final FsdpPass pass;
    private final boolean before;

    FsdpNoSync(FsdpPass pass) {
        this.pass = pass;
        this.before = pass.isSyncing();
        pass.setSyncing(false);
    }

    @Override
    public void close() {
        pass.setSyncing(before);
    }
}
