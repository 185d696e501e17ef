package io.jrun.train.data;

/**
 * The order and the division of the samples of a {@link DistributedSampler}.
 *
 * @param shuffle a new random order every epoch, equal on all ranks
 * @param seed equal on all ranks; epoch e is shuffled with {@code seed + e}
 */
public record SamplerOptions(boolean shuffle, long seed, Remainder remainder) {
    /** For training: shuffled with seed 0, the remainder repeated. These are torch's defaults. */
    public static final SamplerOptions TRAINING = new SamplerOptions(true, 0, Remainder.REPEAT);

    /** For evaluation: not shuffled, each sample exactly once over all ranks. */
    public static final SamplerOptions EVALUATION = new SamplerOptions(false, 0, Remainder.EXACT);

    /** A copy of these options with another seed. */
    public SamplerOptions withSeed(long newSeed) {
        return new SamplerOptions(shuffle, newSeed, remainder);
    }

    /** A copy of these options with or without shuffling. */
    public SamplerOptions withShuffle(boolean newShuffle) {
        return new SamplerOptions(newShuffle, seed, remainder);
    }

    /** A copy of these options with another treatment of the remainder. */
    public SamplerOptions withRemainder(Remainder newRemainder) {
        return new SamplerOptions(shuffle, seed, newRemainder);
    }
}
