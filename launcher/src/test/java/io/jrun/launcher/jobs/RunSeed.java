package io.jrun.launcher.jobs;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Draws the cases of long tests. {@code scripts/test} sets {@code -Djrun.test.seed=N} from the commit, so each commit
 * tests other cases, and the same N repeats a run.
 */
final class RunSeed {
    private static final long SEED = Long.getLong("jrun.test.seed", 0);

    private RunSeed() {}

    /** Draws {@code count} cases; returns all cases under {@code -Djrun.soak=true}. */
    static <T> List<T> sample(List<T> all, int count) {
        List<T> shuffled = new ArrayList<>(all);
        Collections.shuffle(shuffled, new Random(SEED));
        return shuffled.subList(0, Boolean.getBoolean("jrun.soak") ? all.size() : count);
    }

    /** Draws one choice for a case of a test. Different cases of a run get different choices. */
    static <T> T choose(List<T> all, String testCase) {
        return all.get(Math.floorMod(SEED + testCase.hashCode(), all.size()));
    }

    /** A number from 0 to {@code bound - 1}. */
    static int offset(int bound) {
        return Math.floorMod(SEED, bound);
    }
}
