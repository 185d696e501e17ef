package io.jrun.comm;

import java.util.stream.LongStream;

/** The seeds of randomized tests: {@code -Djrun.seed=N} that one, {@code -Djrun.soak=true} many, else a few. */
public final class Seeds {
    private Seeds() {}

    /** The seeds from 1 on. */
    public static LongStream of(int few, int many) {
        Long only = Long.getLong("jrun.seed");
        if (only != null) {
            return LongStream.of(only);
        }
        return LongStream.rangeClosed(1, Boolean.getBoolean("jrun.soak") ? many : few);
    }
}
