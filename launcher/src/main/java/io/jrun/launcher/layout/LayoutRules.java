package io.jrun.launcher.layout;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The rules of {@link Layout}.
 *
 * @param workers of a node, by node rank
 * @param gpus that the job may use of a node, by node rank
 */
public record LayoutRules(
        IntFunction<WorkerCount> workers, IntFunction<GpuSubset> gpus, GpuVisibility visibility, MapBy mapBy) {
    /** Rules that allow all GPUs of the nodes. */
    public LayoutRules(IntFunction<WorkerCount> workers, GpuVisibility visibility) {
        this(workers, _ -> GpuSubset.ALL, visibility, MapBy.SLOT);
    }

    /**
     * The same rules after nodes have been replaced. {@code places}: the original position of each node, by node rank.
     */
    public LayoutRules of(List<Integer> places) {
        return new LayoutRules(
                nodeRank -> workers.apply(places.get(nodeRank)),
                nodeRank -> gpus.apply(places.get(nodeRank)),
                visibility,
                mapBy);
    }

    /** The rules of a job. */
    public static LayoutRules of(JobSpec job) {
        return new LayoutRules(
                job::workersOn,
                job::gpusOn,
                job.workers().gpuVisibility(),
                job.placement().mapBy());
    }

    /** The rules of a job on nodes with unknown GPUs. The map then has no GPUs. */
    public static LayoutRules withoutGpus(JobSpec job) {
        return new LayoutRules(
                job::workersOn,
                _ -> GpuSubset.ALL,
                GpuVisibility.ALL,
                job.placement().mapBy());
    }
}
