package io.jrun.train.data;

import io.jrun.comm.ProcessGroup;
import java.util.stream.LongStream;

/**
 * Divides the sample numbers 0..n-1 among ranks: rank r of R takes every R-th of one common order, beginning at place
 * r. The order of an epoch is libtorch's {@code randperm} under a generator seeded with seed + epoch, so that the order
 * equals the order of {@code torch.utils.data.DistributedSampler} for equal arguments, on any machine.
 *
 * <p>Not thread-safe. The state of a training run is {epoch, samples taken}. A checkpoint needs these two numbers only.
 */
public final class DistributedSampler {
    private final long sampleCount;
    private final int ranks;
    private final int rank;
    private final SamplerOptions options;
    private long epoch;

    private DistributedSampler(long sampleCount, int ranks, int rank, SamplerOptions options) {
        if (sampleCount < 0) {
            throw new IllegalArgumentException("sample count must not be negative, was " + sampleCount);
        }
        if (ranks < 1 || rank < 0 || rank >= ranks) {
            throw new IllegalArgumentException("rank " + rank + " of " + ranks + " ranks does not exist");
        }
        if (options.remainder() == Remainder.DROP && sampleCount < ranks) {
            throw new IllegalArgumentException("the dataset has " + sampleCount + " samples, too few for " + ranks
                    + " ranks, of which each takes the same number and drops the remainder. Give more data, fewer ranks,"
                    + " or Remainder.REPEAT.");
        }
        this.sampleCount = sampleCount;
        this.ranks = ranks;
        this.rank = rank;
        this.options = options;
    }

    /**
     * This rank's share among the members of {@code group}.
     *
     * @throws IllegalArgumentException with {@link Remainder#DROP}, if there is no sample for each rank
     */
    public static DistributedSampler of(long sampleCount, ProcessGroup group, SamplerOptions options) {
        return new DistributedSampler(sampleCount, group.size(), group.groupRank(), options);
    }

    /**
     * The share of {@code rank} among {@code ranks}.
     *
     * @throws IllegalArgumentException as {@link #of(long, ProcessGroup, SamplerOptions)}
     */
    public static DistributedSampler of(long sampleCount, int ranks, int rank, SamplerOptions options) {
        return new DistributedSampler(sampleCount, ranks, rank, options);
    }

    /**
     * Chooses the epoch whose order {@link #indices()} gives. Without a call of this method or of {@link #nextEpoch},
     * every epoch has the order of epoch 0.
     *
     * @param newEpoch at least 0
     */
    public void setEpoch(long newEpoch) {
        if (newEpoch < 0) {
            throw new IllegalArgumentException("epoch must not be negative, was " + newEpoch);
        }
        epoch = newEpoch;
    }

    /**
     * This rank's sample numbers of the epoch, in order. The method then sets the next epoch: epochs have different
     * orders also without a call of {@link #setEpoch}.
     */
    public LongStream nextEpoch() {
        LongStream samples = indices();
        epoch++;
        return samples;
    }

    /** The number of samples that this rank takes per epoch. */
    public long size() {
        return switch (options.remainder()) {
            case REPEAT -> Math.ceilDiv(sampleCount, ranks);
            case DROP -> sampleCount / ranks;
            case EXACT -> Math.ceilDiv(Math.max(0, sampleCount - rank), ranks);
        };
    }

    /** This rank's sample numbers of the epoch, in order. */
    public LongStream indices() {
        long size = size();
        if (size == 0) {
            return LongStream.empty();
        }
        EpochOrder order = EpochOrder.of(sampleCount, options.shuffle(), options.seed() + epoch);
        return LongStream.range(0, size).map(i -> order.at(rank + i * ranks));
    }
}
