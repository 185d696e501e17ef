package io.jrun.train.ddp.hook;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.AllReduceHook;
import io.jrun.train.ddp.BucketReduction;
import io.jrun.train.ddp.CommunicationHook;
import io.jrun.train.ddp.GradientBucket;
import java.util.HashMap;
import java.util.Map;

/**
 * PowerSGD: the ranks send a gradient matrix M of n rows and m columns as two factors P (n x r) and Q (m x r), with M
 * about P Q^T. One step of a power iteration finds the factors: P = M Q, summed over ranks and made orthogonal; then Q
 * = M^T P, averaged. The rounding error is added to the gradients of the next pass. Vectors and small matrices are sent
 * uncompressed. Source: Vogels, Karimireddy and Jaggi, "PowerSGD", arXiv:1905.13727, algorithms 1 and 2; torch's
 * {@code powerSGD_hook}.
 *
 * <p>The hook needs memory for the factors, and with error feedback for one copy of the gradients. The results of all
 * ranks have equal bits.
 */
public final class PowerSgdHook implements CommunicationHook {
    private final PowerSgdOptions options;
    private final CommunicationHook uncompressed = new AllReduceHook();
    private final Map<Integer, LowRankBucket> buckets = new HashMap<>();
    private long passes;

    /** A hook before its first pass. */
    public PowerSgdHook(PowerSgdOptions options) {
        this.options = options;
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        boolean isCompressed = passes >= options.startPass();
        if (bucket.isLast()) {
            passes++;
        }
        if (!isCompressed) {
            return uncompressed.reduce(bucket, group);
        }
        return buckets.computeIfAbsent(bucket.index(), _ -> new LowRankBucket(bucket, options))
                .reduce(bucket, group);
    }
}
