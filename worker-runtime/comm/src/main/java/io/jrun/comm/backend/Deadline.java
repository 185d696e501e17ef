package io.jrun.comm.backend;

import java.time.Duration;

/**
 * A point in time that no wait may pass, on the monotonic clock of this process.
 *
 * @param nanoTime the value of {@link System#nanoTime()} at which it passes
 * @param timeout the duration it was made from, for messages
 */
public record Deadline(long nanoTime, Duration timeout) {
    /** Longer than any program runs, and still far from where the clock's 64 bits end. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** {@code timeout}, or a hundred years if it is longer: "for ever" as programs write it. */
    public static Duration bounded(Duration timeout) {
        return timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    }

    /** The deadline {@code timeout} from now. */
    public static Deadline after(Duration timeout) {
        return new Deadline(System.nanoTime() + bounded(timeout).toNanos(), timeout);
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
