package io.jrun.train.ddp;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Options of DDP: the sizes of buckets, and the parameters that a step may leave out.
 *
 * @param bucketBytes sizes in bytes at which buckets are full: the n-th bucket has the n-th size, and all further
 *     buckets have the last size. A small first size lets communication begin early.
 * @param findUnusedParameters parameters may get no gradient in a pass, different parameters on different ranks. Each
 *     pass then visits the graph and runs one small all-reduce, and the buckets keep their first order
 * @param staticGraph every pass uses the same parameters equally often. {@link io.jrun.train.step.Step#backward} must run the first pass.
 *     The first pass records the uses and is reduced at its end. Later passes do not visit the graph, may leave
 *     parameters out, and may add several times to one gradient, for example under activation checkpointing
 * @param syncBuffers each step begins with a copy of rank 0's buffers (such as running means) to all ranks
 * @param ignored names of parameters and buffers that DDP neither copies nor reduces
 */
public record DdpOptions(
        List<Long> bucketBytes,
        boolean findUnusedParameters,
        boolean staticGraph,
        boolean syncBuffers,
        Set<String> ignored) {
    /** torch's defaults: 1 MiB, then 25 MiB ({@code kDefaultFirstBucketBytes}, {@code kDefaultBucketBytesCap}). */
    public static final DdpOptions DEFAULT = new DdpOptions(List.of(1L << 20, 25L << 20), false, false, true, Set.of());

    public DdpOptions {
        bucketBytes = List.copyOf(bucketBytes);
        ignored = Set.copyOf(ignored);
        if (bucketBytes.isEmpty() || bucketBytes.stream().anyMatch(bytes -> bytes < 1)) {
            throw new IllegalArgumentException("bucketBytes must have at least one size, each of at least 1 byte, was "
                    + bucketBytes + ". The last size is the size of all further buckets.");
        }
    }

    /** A copy with other bucket sizes in bytes: the size of the first bucket, and the size of all later buckets. */
    public DdpOptions withBuckets(long newFirstBucketBytes, long newBucketBytes) {
        return withBuckets(List.of(newFirstBucketBytes, newBucketBytes));
    }

    /** A copy with other bucket sizes in bytes. The last size is the size of all further buckets. */
    public DdpOptions withBuckets(List<Long> newBucketBytes) {
        return new DdpOptions(newBucketBytes, findUnusedParameters, staticGraph, syncBuffers, ignored);
    }

    /** A copy that finds unused parameters or does not. */
    public DdpOptions withFindUnusedParameters(boolean newFindUnusedParameters) {
        return new DdpOptions(bucketBytes, newFindUnusedParameters, staticGraph, syncBuffers, ignored);
    }

    /** A copy with or without a static graph. */
    public DdpOptions withStaticGraph(boolean newStaticGraph) {
        return new DdpOptions(bucketBytes, findUnusedParameters, newStaticGraph, syncBuffers, ignored);
    }

    /** A copy that copies rank 0's buffers in each step or does not. */
    public DdpOptions withSyncBuffers(boolean newSyncBuffers) {
        return new DdpOptions(bucketBytes, findUnusedParameters, staticGraph, newSyncBuffers, ignored);
    }

    /** A copy that ignores parameters and buffers with these names. A tied parameter has its first name only. */
    public DdpOptions withIgnored(Set<String> newIgnored) {
        return new DdpOptions(bucketBytes, findUnusedParameters, staticGraph, syncBuffers, newIgnored);
    }

    /** Throws {@link DdpException} if an ignored name is none of the names of a module's parameters and buffers. */
    void requireIgnoredIn(Set<String> names) {
        Set<String> unknown = new TreeSet<>(ignored);
        unknown.removeAll(names);
        if (!unknown.isEmpty()) {
            throw new DdpException("DDP cannot ignore " + unknown + ": the module has no parameter or buffer of this"
                    + " name. The names are those of ModuleTensors.all(module).");
        }
    }

    /**
     * Whether each pass searches the unused parameters. With a static graph the first pass has recorded the used
     * parameters.
     */
    boolean searchesUnused() {
        return findUnusedParameters && !staticGraph;
    }
}
