package io.jrun.train.ddp.hook;

/**
 * Options of {@link PowerSgdHook}.
 *
 * @param rank columns of the two factors; more columns need more bytes and give a smaller error
 * @param startPass synchronised passes that are not compressed, at least 1: the buckets change after the first pass
 * @param minimumRate a matrix is compressed if the matrix has more than this many times the elements of its factors
 * @param errorFeedback adds the error of the compression to the gradients of the next pass
 * @param warmStart begins each pass with the factors of the previous pass, so that the passes are one power iteration
 * @param seed seed of the first factors, equal on all ranks
 */
public record PowerSgdOptions(
        int rank, long startPass, double minimumRate, boolean errorFeedback, boolean warmStart, long seed) {
    /** torch's defaults: rank 1, 1,000 passes uncompressed, rate 2, error feedback, warm start, seed 0. */
    public static final PowerSgdOptions DEFAULT = new PowerSgdOptions(1, 1000, 2, true, true, 0);

    public PowerSgdOptions {
        if (rank < 1 || startPass < 1 || !(minimumRate >= 1)) {
            throw new IllegalArgumentException("rank and startPass must be at least 1 and minimumRate at least 1, were "
                    + rank + ", " + startPass + " and " + minimumRate);
        }
    }

    /** A copy with another rank. */
    public PowerSgdOptions withRank(int newRank) {
        return new PowerSgdOptions(newRank, startPass, minimumRate, errorFeedback, warmStart, seed);
    }

    /** A copy with another number of uncompressed passes. */
    public PowerSgdOptions withStartPass(long newStartPass) {
        return new PowerSgdOptions(rank, newStartPass, minimumRate, errorFeedback, warmStart, seed);
    }

    /** A copy with or without error feedback. */
    public PowerSgdOptions withErrorFeedback(boolean newErrorFeedback) {
        return new PowerSgdOptions(rank, startPass, minimumRate, newErrorFeedback, warmStart, seed);
    }

    /** A copy with or without warm start. */
    public PowerSgdOptions withWarmStart(boolean newWarmStart) {
        return new PowerSgdOptions(rank, startPass, minimumRate, errorFeedback, newWarmStart, seed);
    }
}
