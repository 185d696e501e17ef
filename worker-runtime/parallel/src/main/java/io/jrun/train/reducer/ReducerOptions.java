package io.jrun.train.reducer;

import java.util.List;

/**
 * The settings of a reducer.
 *
 * @param placement the gradients that a rank has after a reduction
 * @param bucketBytes sizes in bytes at which buckets are full: the n-th bucket has the n-th size, and all further
 *     buckets have the last size. A small first size lets communication begin early.
 * @param findUnusedParameters parameters may get no gradient in a pass, different parameters on different ranks. Each
 *     pass then visits the graph and runs one small all-reduce, and the buckets keep their first order
 * @param staticGraph every pass uses the same parameters equally often. {@link GradientReducer#backward} must run the
 *     first pass. The first pass records the uses and is reduced at its end. Later passes do not visit the graph, may
 *     leave parameters out, and may add several times to one gradient, for example under activation checkpointing
 */
public record ReducerOptions(
        GradientPlacement placement, List<Long> bucketBytes, boolean findUnusedParameters, boolean staticGraph) {
    /** Whole gradients in buckets of torch's sizes: 1 MiB, then 25 MiB ({@code kDefaultBucketBytesCap}). */
    public static final ReducerOptions DEFAULT =
            new ReducerOptions(GradientPlacement.REPLICATED, List.of(1L << 20, 25L << 20), false, false);

    public ReducerOptions {
        bucketBytes = List.copyOf(bucketBytes);
        if (bucketBytes.isEmpty() || bucketBytes.stream().anyMatch(bytes -> bytes < 1)) {
            throw new IllegalArgumentException("bucketBytes must have at least one size, each of at least 1 byte, was "
                    + bucketBytes + ". The last size is the size of all further buckets.");
        }
        if (placement == GradientPlacement.SHARDED_GRADIENTS && (findUnusedParameters || staticGraph)) {
            throw new IllegalArgumentException("stage 2 of ZeRO counts a missing gradient as zero: build without"
                    + " findUnusedParameters and staticGraph");
        }
    }

    /** These settings with another placement. */
    public ReducerOptions withPlacement(GradientPlacement newPlacement) {
        return new ReducerOptions(newPlacement, bucketBytes, findUnusedParameters, staticGraph);
    }

    /** These settings with other sizes of buckets. */
    public ReducerOptions withBuckets(List<Long> newBucketBytes) {
        return new ReducerOptions(placement, newBucketBytes, findUnusedParameters, staticGraph);
    }

    /** These settings that find unused parameters or do not. */
    public ReducerOptions withFindUnusedParameters(boolean newFindUnusedParameters) {
        return new ReducerOptions(placement, bucketBytes, newFindUnusedParameters, staticGraph);
    }

    /** These settings with or without a static graph. */
    public ReducerOptions withStaticGraph(boolean newStaticGraph) {
        return new ReducerOptions(placement, bucketBytes, findUnusedParameters, newStaticGraph);
    }

    /**
     * Whether each pass searches the unused parameters. With a static graph the first pass has recorded the used
     * parameters.
     */
    boolean searchesUnused() {
        return findUnusedParameters && !staticGraph;
    }
}
