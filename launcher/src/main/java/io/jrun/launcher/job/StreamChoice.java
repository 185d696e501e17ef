package io.jrun.launcher.job;

import java.util.Map;

/**
 * A choice of output streams, by local rank.
 *
 * @param everywhere bits {@link #STDOUT} and {@link #STDERR} for local ranks not in {@code byLocalRank}
 */
public record StreamChoice(int everywhere, Map<Integer, Integer> byLocalRank) {
    /** The bit of stdout. */
    public static final int STDOUT = 1;

    /** The bit of stderr. */
    public static final int STDERR = 2;

    /** No stream of any rank. */
    public static final StreamChoice NONE = new StreamChoice(0, Map.of());

    public StreamChoice {
        byLocalRank = Map.copyOf(byLocalRank);
    }

    /** Whether the choice has stdout of {@code localRank}. */
    public boolean hasStdout(int localRank) {
        return (bits(localRank) & STDOUT) != 0;
    }

    /** Whether the choice has stderr of {@code localRank}. */
    public boolean hasStderr(int localRank) {
        return (bits(localRank) & STDERR) != 0;
    }

    private int bits(int localRank) {
        return byLocalRank.getOrDefault(localRank, everywhere);
    }
}
