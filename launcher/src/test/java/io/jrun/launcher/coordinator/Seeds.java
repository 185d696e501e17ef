package io.jrun.launcher.coordinator;

import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * Runs a simulation over many seeds: few hundred by default, tens of thousands under {@code -Djrun.soak=true}, or the
 * one that {@code -Djrun.seed=N} names.
 */
final class Seeds {
    private static final int FEW = 500;
    private static final int MANY = 50_000;

    private Seeds() {}

    /** Stops at the first seed that fails and says how to run it alone. */
    static void forEach(IntConsumer simulation) {
        seeds().forEach(seed -> {
            try {
                simulation.accept(seed);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + " fails; run it alone with -Djrun.seed=" + seed, e);
            }
        });
    }

    private static IntStream seeds() {
        Integer one = Integer.getInteger("jrun.seed");
        if (one != null) {
            return IntStream.of(one);
        }
        return IntStream.range(0, Boolean.getBoolean("jrun.soak") ? MANY : FEW);
    }
}
