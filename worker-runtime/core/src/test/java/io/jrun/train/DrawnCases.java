package io.jrun.train;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A part of a test's cases, another one for each commit: {@code -Djrun.test.seed=N} draws. {@code -Djrun.soak=true}
 * takes all cases.
 */
public final class DrawnCases {
    private DrawnCases() {}

    /** Draws {@code count} of {@code all}, or all in a long run. */
    public static <T> List<T> of(List<T> all, int count) {
        if (Boolean.getBoolean("jrun.soak")) {
            return all;
        }
        List<T> shuffled = new ArrayList<>(all);
        Collections.shuffle(shuffled, new Random(Long.getLong("jrun.test.seed", 1)));
        return List.copyOf(shuffled.subList(0, count));
    }
}
