package io.jrun.train.ddp;

import java.util.List;

/**
 * How gradients are grouped and what a step may leave out.
 *
 * @param bucketBytes sizes in bytes at which buckets are full: the first bucket has the first size, the next one the next
 *     size, and all further ones the last size. A small first size lets communication begin early.
 * @param findUnusedParameters some parameters may get no gradient in some passes, differently on different ranks. Costs
 *     a walk over the graph and one small all-reduce per pass, and buckets keep their first order
 * @param staticGraph every pass uses the same parameters equally often. The first pass, which must be run by
 *     {@link Step#backward}, records them and is reduced at its end. Later passes need no walk over the graph, may leave
 *     parameters out and may add several times to one gradient, as activation checkpointing does
 * @param syncBuffers every step begins by copying rank 0's buffers (such as running means) to all ranks
 */
public record DdpOptions(
        List<Long> bucketBytes, boolean findUnusedParameters, boolean staticGraph, boolean syncBuffers) {
    /** torch's defaults: 1 MiB, then 25 MiB ({@code kDefaultFirstBucketBytes}, {@code kDefaultBucketBytesCap}). */
    public static final DdpOptions DEFAULT = new DdpOptions(List.of(1L << 20, 25L << 20), false, false, true);

    public DdpOptions {
        bucketBytes = List.copyOf(bucketBytes);
        if (bucketBytes.isEmpty() || bucketBytes.stream().anyMatch(bytes -> bytes < 1)) {
            throw new IllegalArgumentException("bucketBytes must be one size or more of at least 1 byte each, was "
                    + bucketBytes + ". The last size holds for all further buckets.");
        }
    }

    /** The same with other bucket sizes, in bytes: of the first bucket, and of all later ones. */
    public DdpOptions withBuckets(long newFirstBucketBytes, long newBucketBytes) {
        return withBuckets(List.of(newFirstBucketBytes, newBucketBytes));
    }

    /** The same with other bucket sizes, in bytes; the last one holds for all further buckets. */
    public DdpOptions withBuckets(List<Long> newBucketBytes) {
        return new DdpOptions(newBucketBytes, findUnusedParameters, staticGraph, syncBuffers);
    }

    /** The same with or without tolerance for unused parameters. */
    public DdpOptions withFindUnusedParameters(boolean newFindUnusedParameters) {
        return new DdpOptions(bucketBytes, newFindUnusedParameters, staticGraph, syncBuffers);
    }

    /** The same with or without the promise that every pass uses the same parameters equally often. */
    public DdpOptions withStaticGraph(boolean newStaticGraph) {
        return new DdpOptions(bucketBytes, findUnusedParameters, newStaticGraph, syncBuffers);
    }

    /** The same with or without copying rank 0's buffers. */
    public DdpOptions withSyncBuffers(boolean newSyncBuffers) {
        return new DdpOptions(bucketBytes, findUnusedParameters, staticGraph, newSyncBuffers);
    }

    /** Whether a pass looks for the parameters that it leaves out. A static graph knows them from its first pass. */
    boolean searchesUnused() {
        return findUnusedParameters && !staticGraph;
    }
}
