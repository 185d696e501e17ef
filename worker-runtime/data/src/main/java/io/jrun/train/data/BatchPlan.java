package io.jrun.train.data;

import java.util.stream.LongStream;

/**
 * Decides which samples each batch of one rank has. The order of an epoch is cut into global batches of {@code batch *
 * ranks} samples; rank r takes every ranks-th sample of a global batch, beginning at place r. Not thread-safe.
 */
final class BatchPlan {
    private final long sampleCount;
    private final int ranks;
    private final int rank;
    private final DataLoaderOptions options;
    private DataLoaderState at;
    private EpochOrder order;

    BatchPlan(long sampleCount, int ranks, int rank, DataLoaderOptions options, DataLoaderState from) {
        this.sampleCount = sampleCount;
        this.ranks = ranks;
        this.rank = rank;
        this.options = options;
        boolean isShareRequired = options.order().remainder() != Remainder.EXACT;
        if (sampleCount < 1 || (isShareRequired && count(0) == 0)) {
            throw new IllegalArgumentException("the dataset has " + sampleCount + " samples, too few for " + ranks
                    + " ranks with batches of " + options.batch()
                    + ". Give more data, a smaller batch, or fewer ranks.");
        }
        if (from.consumed() > sampleCount) {
            throw new IllegalArgumentException("the saved state has consumed " + from.consumed()
                    + " samples of its epoch, but the dataset has " + sampleCount
                    + ". Give the dataset with which the state was saved.");
        }
        at = begun(from);
        order = orderOf(at);
    }

    /** The state before the next batch. */
    DataLoaderState state() {
        return at;
    }

    /** Whether this rank has no sample in any epoch. This happens only with {@link Remainder#EXACT}. */
    boolean isEmpty() {
        return count(0) == 0;
    }

    /** The samples of the next batch; the plan then stands behind that batch. */
    long[] next() {
        EpochOrder current = order;
        long consumed = at.consumed();
        long[] samples = LongStream.range(0, count(consumed))
                .map(i -> current.at(consumed + rank + i * ranks))
                .toArray();
        long epoch = at.epoch();
        at = after(at);
        if (at.epoch() != epoch) {
            order = orderOf(at);
        }
        return samples;
    }

    /** Leaves out batches. No sample is read. */
    void skip(long batches) {
        for (long batch = 0; batch < batches; batch++) {
            at = after(at);
        }
        order = orderOf(at);
    }

    private DataLoaderState after(DataLoaderState state) {
        return begun(new DataLoaderState(state.seed(), state.epoch(), state.consumed() + taken(state.consumed())));
    }

    /** The state itself, or the beginning of the next epoch if this rank has no batch left. */
    private DataLoaderState begun(DataLoaderState state) {
        return count(state.consumed()) == 0 ? new DataLoaderState(state.seed(), state.epoch() + 1, 0) : state;
    }

    private EpochOrder orderOf(DataLoaderState state) {
        return EpochOrder.of(sampleCount, options.order().shuffle(), state.seed() + state.epoch());
    }

    /** Samples of this rank's batch that begins when {@code consumed} samples of the epoch are taken. */
    private long count(long consumed) {
        long left = sampleCount - consumed;
        long own = switch (options.order().remainder()) {
            case DROP -> left >= globalBatch() ? options.batch() : 0;
            case REPEAT -> Math.ceilDiv(left, ranks);
            case EXACT -> Math.ceilDiv(left - rank, ranks);
        };
        return Math.clamp(own, 0, options.batch());
    }

    /** Samples that all ranks together take with this batch. */
    private long taken(long consumed) {
        return options.order().remainder() == Remainder.REPEAT ? count(consumed) * ranks : globalBatch();
    }

    private long globalBatch() {
        return (long) options.batch() * ranks;
    }
}
