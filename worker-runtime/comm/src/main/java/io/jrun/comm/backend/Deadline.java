package io.jrun.comm.backend;

import io.jrun.comm.GroupOptions;
import java.time.Duration;

/**
 * A point in time that no wait may pass, on the monotonic clock of this process.
 *
 * @param nanoTime the value of {@link System#nanoTime()} at which it passes
 * @param timeout the duration it was made from, for messages
 */
public record Deadline(long nanoTime, Duration timeout) {
    /** The deadline {@code timeout} from now. */
    public static Deadline after(Duration timeout) {
        return new Deadline(System.nanoTime() + GroupOptions.bounded(timeout).toNanos(), timeout);
    }

    /** This, or the one {@code limit} from now if that is earlier. */
    public Deadline atMost(Duration limit) {
        Deadline other = after(limit);
        return other.nanoTime - nanoTime < 0 ? other : this;
    }

    /** Nanoseconds left; zero or negative once it has passed. */
    public long remainingNanos() {
        return nanoTime - System.nanoTime();
    }

    /** Whether it has passed. */
    public boolean passed() {
        return remainingNanos() <= 0;
    }
}
