package io.jrun.launcher;

import io.jrun.launcher.job.StopSignal;
import java.util.function.Consumer;

/**
 * Forwards the signals of this process and of other nodes once. A scheduler that stops a job signals all nodes at the
 * same time, and these signals must not count as a second signal of the user. Thread-safe.
 */
final class SignalDeduplicator {
    private final Consumer<StopSignal> receiver;
    private boolean passed;
    private boolean own;

    SignalDeduplicator(Consumer<StopSignal> receiver) {
        this.receiver = receiver;
    }

    /** Handles a signal of this process. From the second stop signal on, each signal counts. */
    void onLocalSignal(StopSignal signal) {
        boolean first;
        synchronized (this) {
            first = !own && signal.endsJob();
            own |= signal.endsJob();
        }
        if (first) {
            onRemoteSignal(signal);
        } else {
            receiver.accept(signal);
        }
    }

    /** Handles a signal of another node. The signal counts unless the job is already stopping. */
    void onRemoteSignal(StopSignal signal) {
        synchronized (this) {
            if (passed) {
                return;
            }
            passed = signal.endsJob();
        }
        receiver.accept(signal);
    }
}
