package io.jrun.train.checkpoint.sharded;

import java.util.random.RandomGenerator;

/**
 * A generator whose state can be saved. The JDK's generators hide theirs. Source: Steele, Lea and Flood 2014, "Fast
 * splittable pseudorandom number generators"; the numbers are those of {@link java.util.SplittableRandom} with the same
 * seed. Not thread-safe.
 */
public final class SplitMix64Random implements RandomGenerator {
    private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;
    private static final long FIRST_FACTOR = 0xBF58476D1CE4E5B9L;
    private static final long SECOND_FACTOR = 0x94D049BB133111EBL;

    private long state;

    public SplitMix64Random(long seed) {
        state = seed;
    }

    /** The state, for {@link #restore}. */
    public long state() {
        return state;
    }

    /** Continues behind the number after which {@link #state} was called. */
    public void restore(long saved) {
        state = saved;
    }

    @Override
    public long nextLong() {
        state += GOLDEN_GAMMA;
        long mixed = (state ^ (state >>> 30)) * FIRST_FACTOR;
        mixed = (mixed ^ (mixed >>> 27)) * SECOND_FACTOR;
        return mixed ^ (mixed >>> 31);
    }
}
