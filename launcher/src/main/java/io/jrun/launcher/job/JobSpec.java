package io.jrun.launcher.job;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Everything a job is asked to be, checked; made by the command line before anything starts.
 *
 * @param runId names the job and its log folder
 * @param logDirectory absolute; the job's own folder is {@code logDirectory/runId}
 * @param timeout how long the job may take, empty for no limit
 * @param cluster where it runs, empty for this machine without any agent but its own
 */
public record JobSpec(
        String runId,
        Program program,
        PlacementRules placement,
        WorkerSettings workers,
        Path logDirectory,
        ConsoleSettings console,
        StopPolicy stop,
        Liveness liveness,
        Optional<Duration> timeout,
        Optional<Cluster> cluster,
        boolean dryRun,
        boolean json) {

    /** How the job ends and begins again. */
    public record StopPolicy(int maxRestarts, Duration gracePeriod, Set<StopSignal> signals) {
        public StopPolicy {
            signals = Set.copyOf(signals);
        }
    }

    /** The workers of one node. */
    public WorkerCount workersOn(int nodeRank) {
        OptionalInt slots =
                cluster.map(hosts -> hosts.hosts().get(nodeRank).slots()).orElse(OptionalInt.empty());
        return slots.isPresent() ? new WorkerCount.Exactly(slots.getAsInt()) : placement.perNode();
    }

    /** What workers may use of a node's GPUs. */
    public GpuSubset gpusOn(int nodeRank) {
        return cluster.map(hosts -> hosts.hosts().get(nodeRank).gpus()).orElse(GpuSubset.ALL);
    }
}
