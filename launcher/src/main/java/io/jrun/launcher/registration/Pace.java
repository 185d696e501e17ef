package io.jrun.launcher.registration;

import io.grpc.stub.ServerCallStreamObserver;
import org.jspecify.annotations.Nullable;

/**
 * Reads a stream one message at a time, as fast as the stream takes them to which they are passed on. Thread-safe.
 */
final class Pace {
    private final ServerCallStreamObserver<?> from;
    private @Nullable ServerCallStreamObserver<?> to;
    private boolean held;

    /** @param from the call whose messages are passed on; its first message is asked for now */
    Pace(ServerCallStreamObserver<?> from) {
        this.from = from;
        from.disableAutoRequest();
        from.request(1);
    }

    /** Messages go to {@code next} from now on. */
    synchronized void to(ServerCallStreamObserver<?> next) {
        to = next;
    }

    /** Nobody takes messages any more: what still comes is dropped, and read to its end. */
    void drop() {
        boolean readOn;
        synchronized (this) {
            to = null;
            readOn = held;
            held = false;
        }
        if (readOn) {
            from.request(1);
        }
    }

    /** A message has been passed on. */
    void passed() {
        synchronized (this) {
            held = to != null && !to.isReady();
            if (held) {
                return;
            }
        }
        from.request(1);
    }

    /** The other stream may be ready again. */
    void ready() {
        synchronized (this) {
            if (!held || to == null || !to.isReady()) {
                return;
            }
            held = false;
        }
        from.request(1);
    }
}
