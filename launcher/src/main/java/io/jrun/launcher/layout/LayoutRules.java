package io.jrun.launcher.layout;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.List;
import java.util.function.IntFunction;

/**
 * What {@link Layout} goes by.
 *
 * @param workers of a node, by its rank
 * @param gpus that may be used of a node, by its rank
 */
public record LayoutRules(
        IntFunction<WorkerCount> workers, IntFunction<GpuSubset> gpus, GpuVisibility visibility, MapBy mapBy) {
    /** All of the nodes' GPUs, node after node. */
    public LayoutRules(IntFunction<WorkerCount> workers, GpuVisibility visibility) {
        this(workers, _ -> GpuSubset.ALL, visibility, MapBy.SLOT);
    }

    /** The same for nodes whose places are taken by others: {@code places} by node rank. */
    public LayoutRules of(List<Integer> places) {
        return new LayoutRules(
                nodeRank -> workers.apply(places.get(nodeRank)),
                nodeRank -> gpus.apply(places.get(nodeRank)),
                visibility,
                mapBy);
    }

    /** Those of a job. */
    public static LayoutRules of(JobSpec job) {
        return new LayoutRules(
                job::workersOn,
                job::gpusOn,
                job.workers().gpuVisibility(),
                job.placement().mapBy());
    }

    /** Those of a job on nodes whose GPUs are not known, and are not in the map. */
    public static LayoutRules withoutGpus(JobSpec job) {
        return new LayoutRules(
                job::workersOn,
                _ -> GpuSubset.ALL,
                GpuVisibility.ALL,
                job.placement().mapBy());
    }
}
