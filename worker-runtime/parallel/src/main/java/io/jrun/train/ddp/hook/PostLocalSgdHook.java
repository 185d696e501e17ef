package io.jrun.train.ddp.hook;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import org.jspecify.annotations.Nullable;

/**
 * Post-local SGD: the mean over all ranks for the first passes, then the mean over a smaller group only, such as the
 * ranks of one node. {@link PeriodicModelAverager} keeps the models of the smaller groups together. Source: Lin, Stich,
 * Patel and Jaggi, "Don't Use Large Mini-Batches, Use Local SGD", arXiv:1808.07217; torch's {@code post_localSGD_hook}.
 */
public final class PostLocalSgdHook implements CommunicationHook {
    private final ProcessGroup subgroup;
    /** The ranks of the first bucket; null before. */
    private @Nullable ProcessGroup ofBuckets;

    private final long startPass;
    private final CommunicationHook allReduce = new AllReduceHook();
    private long passes;

    /**
     * A hook before its first pass.
     *
     * @param subgroup a group that contains this rank; each rank is in one subgroup
     * @param startPass synchronised passes with the mean over all ranks, 0 or more
     */
    public PostLocalSgdHook(ProcessGroup subgroup, long startPass) {
        if (startPass < 0) {
            throw new IllegalArgumentException("startPass must be 0 or more, not " + startPass);
        }
        this.subgroup = subgroup;
        this.startPass = startPass;
    }

    /** @throws IllegalStateException if ranks share experts of the model: no subgroup has the ranks of both kinds of buckets */
    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        if (ofBuckets == null) {
            ofBuckets = group;
        } else if (!ofBuckets.equals(group)) {
            throw new IllegalStateException("PostLocalSgdHook: the gradients of experts and of other parameters are"
                    + " added over different ranks, and the hook has one subgroup. Use the default hook.");
        }
        boolean isLocal = passes >= startPass;
        if (bucket.isLast()) {
            passes++;
        }
        return isLocal ? AllReduceHook.mean(bucket, subgroup.size(), subgroup) : allReduce.reduce(bucket, group);
    }
}
