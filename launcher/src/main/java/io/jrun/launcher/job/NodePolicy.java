package io.jrun.launcher.job;

import java.time.Duration;
import java.util.Optional;

/**
 * The number of nodes of a job, and what happens when nodes join or are lost.
 *
 * @param min the least number of nodes
 * @param max the greatest number of nodes
 * @param spares the number of standby nodes beyond {@code max}
 * @param joinTimeout how long the job waits for {@code min} nodes
 * @param restartWindow how long a restart counts; empty: always
 * @param coolDown how long the job waits before it calls a lost node again
 */
public record NodePolicy(
        int min, int max, int spares, Duration joinTimeout, Optional<Duration> restartWindow, Duration coolDown) {
    /**
     * The time for which the job waits for further nodes once {@code min} nodes have joined. The value is torchrun's.
     */
    public static final Duration LAST_CALL = Duration.ofSeconds(30);

    /** The number of failures after which a node gets a cool-down. Fewer failures may be chance. */
    public static final int MOST_FAILURES = 3;

    /**
     * The failure window in cool-downs: five minutes with a cool-down of 30 s. A node that fails once a day gets no
     * cool-down.
     */
    private static final int FAILURE_COOL_DOWNS = 10;

    /**
     * The time for which a failure of a node's workers counts. {@value #MOST_FAILURES} failures in this time begin the
     * node's cool-down.
     */
    public Duration failureWindow() {
        return coolDown.multipliedBy(FAILURE_COOL_DOWNS);
    }

    /** Whether the job may continue with other nodes than its first nodes. */
    public boolean isElastic() {
        return min < max || spares > 0;
    }
}
