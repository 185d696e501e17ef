package io.jrun.train.ddp;

/**
 * How gradients are grouped and what a step may leave out.
 *
 * @param firstBucketBytes size in bytes at which the first bucket is full; small, so that communication begins early
 * @param bucketBytes size in bytes at which each later bucket is full
 * @param findUnusedParameters some parameters may get no gradient in some passes, differently on different ranks. Costs
 *     a walk over the graph and one small all-reduce per pass, and buckets keep their first order
 * @param syncBuffers every step begins by copying rank 0's buffers (such as running means) to all ranks
 */
public record DdpOptions(long firstBucketBytes, long bucketBytes, boolean findUnusedParameters, boolean syncBuffers) {
    /** torch's defaults: 1 MiB, then 25 MiB ({@code kDefaultFirstBucketBytes}, {@code kDefaultBucketBytesCap}). */
    public static final DdpOptions DEFAULT = new DdpOptions(1 << 20, 25 << 20, false, true);

    public DdpOptions {
        if (firstBucketBytes < 1 || bucketBytes < 1) {
            throw new IllegalArgumentException(
                    "bucket sizes must be at least 1 byte, were " + firstBucketBytes + " and " + bucketBytes);
        }
    }

    /** The same with other bucket sizes, in bytes. */
    public DdpOptions withBuckets(long newFirstBucketBytes, long newBucketBytes) {
        return new DdpOptions(newFirstBucketBytes, newBucketBytes, findUnusedParameters, syncBuffers);
    }

    /** The same with or without tolerance for unused parameters. */
    public DdpOptions withFindUnusedParameters(boolean newFindUnusedParameters) {
        return new DdpOptions(firstBucketBytes, bucketBytes, newFindUnusedParameters, syncBuffers);
    }

    /** The same with or without copying rank 0's buffers. */
    public DdpOptions withSyncBuffers(boolean newSyncBuffers) {
        return new DdpOptions(firstBucketBytes, bucketBytes, findUnusedParameters, newSyncBuffers);
    }
}
