package io.jrun.train.expert;

import io.jrun.train.ddp.NoSync;

/** A scope without reduction, as {@link NoSync}. */
public record ExpertNoSync(NoSync shared, NoSync experts) implements AutoCloseable {
    @Override
    public void close() {
        experts.close();
        shared.close();
    }
}
