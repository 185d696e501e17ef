package io.jrun.launcher;

import io.jrun.launcher.job.StopSignal;
import java.util.function.Consumer;

/**
 * Passes on the signals of this process and those of other nodes' as one: a scheduler that stops a job tells all nodes at
 * once, which must not be taken for a user who is in a hurry. Thread-safe.
 */
final class SignalDeduplicator {
    private final Consumer<StopSignal> receiver;
    private boolean passed;
    private boolean own;

    SignalDeduplicator(Consumer<StopSignal> receiver) {
        this.receiver = receiver;
    }

    /** This process got a signal; from the second one on that ends jobs, each counts. */
    void here(StopSignal signal) {
        boolean first;
        synchronized (this) {
            first = !own && signal.endsJob();
            own |= signal.endsJob();
        }
        if (first) {
            elsewhere(signal);
        } else {
            receiver.accept(signal);
        }
    }

    /** Another node's jrun got a signal; counts unless the job is being stopped already. */
    void elsewhere(StopSignal signal) {
        synchronized (this) {
            if (passed) {
                return;
            }
            passed = signal.endsJob();
        }
        receiver.accept(signal);
    }
}
