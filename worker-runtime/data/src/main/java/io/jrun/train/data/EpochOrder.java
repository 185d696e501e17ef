package io.jrun.train.data;

import io.jrun.train.Libtorch;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The order of the samples of one epoch. All ranks compute the same order. A shuffled order is libtorch's {@code
 * randperm} under a generator with the seed {@code seed + epoch}. It needs 8 bytes for each sample. Immutable.
 */
final class EpochOrder {
    private final long sampleCount;
    /** Empty for the order of the sample numbers. */
    private final long[] shuffled;

    private EpochOrder(long sampleCount, long[] shuffled) {
        this.sampleCount = sampleCount;
        this.shuffled = shuffled;
    }

    /** @throws IllegalArgumentException if a shuffled order has more samples than an array can hold */
    static EpochOrder of(long sampleCount, boolean shuffle, long seedPlusEpoch) {
        if (!shuffle || sampleCount == 0) {
            return new EpochOrder(sampleCount, new long[0]);
        }
        if (sampleCount > Integer.MAX_VALUE - 8) {
            throw new IllegalArgumentException("a shuffled order has at most " + (Integer.MAX_VALUE - 8)
                    + " samples, the dataset has " + sampleCount + ". Divide the dataset, or make the samples longer.");
        }
        Libtorch.load();
        try (PointerScope _ = new PointerScope()) {
            Tensor permutation = torch.randperm(
                    sampleCount,
                    new GeneratorOptional(torch.createCPUGenerator(seedPlusEpoch)),
                    new TensorOptions(torch.ScalarType.Long));
            long[] order = new long[Math.toIntExact(sampleCount)];
            permutation.data_ptr_long().get(order);
            return new EpochOrder(sampleCount, order);
        }
    }

    /** The sample at a place. Beyond the end the order begins again. There must be at least one sample. */
    long at(long place) {
        long wrapped = place % sampleCount;
        return shuffled.length == 0 ? wrapped : shuffled[(int) wrapped];
    }
}
