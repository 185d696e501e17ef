package io.jrun.train.ddp;

/**
 * A scope in which backward passes add to this rank's own gradients without a reduction. The first pass after the scope
 * reduces the sum. Scopes nest.
 */
public final class NoSync implements AutoCloseable {
    private final GradientReducer reducer;
    private final boolean before;

    NoSync(GradientReducer reducer) {
        this.reducer = reducer;
        reducer.requireIdle();
        this.before = reducer.isSyncing();
        reducer.setSyncing(false);
    }

    @Override
    public void close() {
        reducer.setSyncing(before);
    }
}
