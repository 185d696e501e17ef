package io.jrun.train.checkpoint.sharded;

import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;

/**
 * Decides which checkpoints stay after a save: the newest ones, and those whose step is a multiple of a number.
 * Checkpoints of later steps than the saved one are of another run and stay.
 *
 * @param keepLast number of newest checkpoints, 1 or more
 * @param keepEvery checkpoints of steps that are multiples of this number stay; 0 for none
 */
public record Retention(int keepLast, long keepEvery) {
    /** The newest two: one of them is whole while the other one is replaced. */
    public static final Retention DEFAULT = new Retention(2, 0);

    public Retention {
        if (keepLast < 1 || keepEvery < 0) {
            throw new IllegalArgumentException("keep the last " + keepLast + " checkpoints and every " + keepEvery
                    + "th step: expected 1 or more, and 0 or more");
        }
    }

    /** The steps whose checkpoints are to be removed after the checkpoint of {@code saved}. */
    Set<Long> removed(NavigableSet<Long> steps, long saved) {
        Set<Long> removed = new TreeSet<>();
        steps.headSet(saved, true).descendingSet().stream()
                .skip(keepLast)
                .filter(step -> keepEvery == 0 || step % keepEvery != 0)
                .forEach(removed::add);
        return removed;
    }
}
