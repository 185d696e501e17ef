package io.jrun.comm.backend;

import io.jrun.comm.GroupOptions;
import java.time.Duration;

/**
 * The latest end of a wait, on the monotonic clock of this process.
 *
 * @param nanoTime value of {@link System#nanoTime()} at the deadline
 * @param timeout duration from which the deadline was made, for messages
 */
public record Deadline(long nanoTime, Duration timeout) {
    /** Returns the deadline {@code timeout} from now. */
    public static Deadline after(Duration timeout) {
        return new Deadline(System.nanoTime() + GroupOptions.bounded(timeout).toNanos(), timeout);
    }

    /** Returns this deadline, or the deadline {@code limit} from now if that is earlier. */
    public Deadline atMost(Duration limit) {
        Deadline other = after(limit);
        return other.nanoTime - nanoTime < 0 ? other : this;
    }

    /** Nanoseconds until the deadline; zero or negative after the deadline. */
    public long remainingNanos() {
        return nanoTime - System.nanoTime();
    }

    /** Whether the deadline has passed. */
    public boolean passed() {
        return remainingNanos() <= 0;
    }
}
