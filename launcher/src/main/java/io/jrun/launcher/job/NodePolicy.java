package io.jrun.launcher.job;

import java.time.Duration;
import java.util.Optional;

/**
 * How many nodes a job runs on, and what happens when they come and go.
 *
 * @param min it runs on no fewer
 * @param max and on no more
 * @param spares how many beyond {@code max} stand by
 * @param joinTimeout how long {@code min} nodes are waited for
 * @param restartWindow a restart counts for so long; empty: for ever
 * @param coolDown a node that was lost is not called again for so long
 */
public record NodePolicy(
        int min, int max, int spares, Duration joinTimeout, Optional<Duration> restartWindow, Duration coolDown) {
    /** How long nodes are waited for that are not needed to begin. As torchrun. */
    public static final Duration LAST_CALL = Duration.ofSeconds(30);

    /** One failure may be chance, two bad luck. */
    public static final int MOST_FAILURES = 3;

    /** With a cool-down of 30 s, five minutes: a node that fails once a day is no worse than others. */
    private static final int FAILURE_COOL_DOWNS = 10;

    /** How long a failure of a node's workers counts against it; {@value #MOST_FAILURES} send it into its cool-down. */
    public Duration failureWindow() {
        return coolDown.multipliedBy(FAILURE_COOL_DOWNS);
    }

    /** Whether the job may go on with other nodes than those it began with. */
    public boolean isElastic() {
        return min < max || spares > 0;
    }
}
