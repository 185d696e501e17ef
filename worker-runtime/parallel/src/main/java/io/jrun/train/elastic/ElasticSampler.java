package io.jrun.train.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.Remainder;
import io.jrun.train.data.SamplerOptions;
import java.util.Arrays;

/**
 * Gives each step the same samples for any number of ranks. The global batch has a constant size, and every rank takes
 * its part. The order of an epoch is the order of {@link DistributedSampler} for one rank. The last samples of an epoch
 * that fill no batch are dropped. Not thread-safe.
 *
 * <p>The state of the sampler is the number of batches taken. Samples of a step that was not committed are taken again.
 */
public final class ElasticSampler {
    private final int batchSize;
    private final long batchesPerEpoch;
    private final DistributedSampler orders;
    private long taken;
    private long epoch = -1;
    private long[] order = {};

    /**
     * A sampler at the beginning of the first epoch.
     *
     * @param sampleCount at least {@code batchSize}
     * @param batchSize samples of a step over all ranks
     * @param seed the shuffle of epoch e has the seed {@code seed + e}
     */
    public ElasticSampler(long sampleCount, int batchSize, long seed) {
        if (batchSize < 1 || sampleCount < batchSize) {
            throw new IllegalArgumentException(
                    sampleCount + " samples are fewer than one batch of " + batchSize + "; choose a smaller batch");
        }
        this.batchSize = batchSize;
        this.batchesPerEpoch = sampleCount / batchSize;
        this.orders = DistributedSampler.of(
                sampleCount, 1, 0, SamplerOptions.TRAINING.withSeed(seed).withRemainder(Remainder.DROP));
    }

    /** One rank's part of a batch. */
    public static final class Share {
        private final long[] samples;
        private final double weight;

        private Share(long[] samples, double weight) {
            this.samples = samples;
            this.weight = weight;
        }

        /** The numbers of the samples, at least one. */
        public long[] samples() {
            return samples.clone();
        }

        /**
         * The factor for the mean loss over these samples. With this factor the mean over the ranks is the mean over
         * the batch. The factor is exactly 1 if all ranks have equally many samples.
         */
        public double weight() {
            return weight;
        }
    }

    /** This rank's part of the next batch. Every rank of the group calls this method. */
    public Share next(ProcessGroup group) {
        return next(group.groupRank(), group.size());
    }

    /**
     * The part of the next batch for {@code rank} among {@code ranks} ranks.
     *
     * @throws IllegalArgumentException if there are more ranks than samples in a batch
     */
    public Share next(int rank, int ranks) {
        if (ranks > batchSize) {
            throw new IllegalArgumentException("a batch of " + batchSize + " samples cannot be divided among " + ranks
                    + " ranks; choose a larger batch or fewer workers");
        }
        if (taken / batchesPerEpoch != epoch) {
            epoch = taken / batchesPerEpoch;
            orders.setEpoch(epoch);
            order = orders.indices().toArray();
        }
        int first = Math.toIntExact(taken % batchesPerEpoch * batchSize);
        int from = first + (int) ((long) batchSize * rank / ranks);
        int to = first + (int) ((long) batchSize * (rank + 1) / ranks);
        taken++;
        return new Share(Arrays.copyOfRange(order, from, to), (double) (to - from) * ranks / batchSize);
    }

    /** The number of batches taken. */
    public long taken() {
        return taken;
    }

    /** Sets the number of batches taken. */
    public void goTo(long batches) {
        taken = batches;
    }
}
