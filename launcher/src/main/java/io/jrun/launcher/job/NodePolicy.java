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

    /** Whether the job may go on with other nodes than those it began with. */
    public boolean isElastic() {
        return min < max || spares > 0;
    }
}
