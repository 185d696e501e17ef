package io.jrun.train.ddp;

import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.ReducerOptions;
import io.jrun.train.reducer.ReductionException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Options of DDP.
 *
 * @param reduction the gradients that a rank has, the sizes of buckets, and the parameters that a step may leave out
 * @param syncBuffers each step begins with a copy of rank 0's buffers (such as running means) to all ranks
 * @param ignored names of parameters and buffers that DDP neither copies nor reduces
 */
public record DdpOptions(ReducerOptions reduction, boolean syncBuffers, Set<String> ignored) {
    /** torch's defaults. */
    public static final DdpOptions DEFAULT = new DdpOptions(ReducerOptions.DEFAULT, true, Set.of());

    public DdpOptions {
        ignored = Set.copyOf(ignored);
    }

    /** A copy of which each rank has other gradients after a step: stages 1 and 2 of ZeRO. */
    public DdpOptions withPlacement(GradientPlacement placement) {
        return new DdpOptions(reduction.withPlacement(placement), syncBuffers, ignored);
    }

    /** A copy with other bucket sizes in bytes: the size of the first bucket, and the size of all later buckets. */
    public DdpOptions withBuckets(long newFirstBucketBytes, long newBucketBytes) {
        return withBuckets(List.of(newFirstBucketBytes, newBucketBytes));
    }

    /** A copy with other bucket sizes in bytes. The last size is the size of all further buckets. */
    public DdpOptions withBuckets(List<Long> newBucketBytes) {
        return new DdpOptions(reduction.withBuckets(newBucketBytes), syncBuffers, ignored);
    }

    /** A copy that finds unused parameters or does not. */
    public DdpOptions withFindUnusedParameters(boolean newFindUnusedParameters) {
        return new DdpOptions(reduction.withFindUnusedParameters(newFindUnusedParameters), syncBuffers, ignored);
    }

    /** A copy with or without a static graph. */
    public DdpOptions withStaticGraph(boolean newStaticGraph) {
        return new DdpOptions(reduction.withStaticGraph(newStaticGraph), syncBuffers, ignored);
    }

    /** A copy that copies rank 0's buffers in each step or does not. */
    public DdpOptions withSyncBuffers(boolean newSyncBuffers) {
        return new DdpOptions(reduction, newSyncBuffers, ignored);
    }

    /** A copy that ignores parameters and buffers with these names. A tied parameter has its first name only. */
    public DdpOptions withIgnored(Set<String> newIgnored) {
        return new DdpOptions(reduction, syncBuffers, newIgnored);
    }

    /** Throws {@link ReductionException} if an ignored name is none of the names of a module's parameters and buffers. */
    void requireIgnoredIn(Set<String> names) {
        Set<String> unknown = new TreeSet<>(ignored);
        unknown.removeAll(names);
        if (!unknown.isEmpty()) {
            throw new ReductionException(
                    "DDP cannot ignore " + unknown + ": the module has no parameter or buffer of this"
                            + " name. The names are those of ModuleTensors.all(module).");
        }
    }
}
