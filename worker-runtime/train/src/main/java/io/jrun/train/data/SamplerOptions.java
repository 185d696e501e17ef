package io.jrun.train.data;

/**
 * How a {@link DistributedSampler} orders and divides samples.
 *
 * @param shuffle a new random order every epoch, equal on all ranks
 * @param seed equal on all ranks; epoch e is shuffled with {@code seed + e}
 */
public record SamplerOptions(boolean shuffle, long seed, Remainder remainder) {
    /** Shuffled with seed 0, the remainder repeated: torch's defaults. */
    public static final SamplerOptions TRAINING = new SamplerOptions(true, 0, Remainder.REPEAT);

    /** In order, each sample exactly once over all ranks. */
    public static final SamplerOptions EVALUATION = new SamplerOptions(false, 0, Remainder.EXACT);

    /** The same with another seed. */
    public SamplerOptions withSeed(long newSeed) {
        return new SamplerOptions(shuffle, newSeed, remainder);
    }

    /** The same in another order. */
    public SamplerOptions withShuffle(boolean newShuffle) {
        return new SamplerOptions(newShuffle, seed, remainder);
    }

    /** The same with another treatment of the remainder. */
    public SamplerOptions withRemainder(Remainder newRemainder) {
        return new SamplerOptions(shuffle, seed, newRemainder);
    }
}
