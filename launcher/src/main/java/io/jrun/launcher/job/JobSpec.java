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
        LivenessSettings liveness,
        NodePolicy nodes,
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

    /** The workers of one node, by its place among the hosts that are named; one that is not named has one of the others'. */
    public WorkerCount workersOn(int id) {
        OptionalInt slots = cluster.filter(named -> id < named.hosts().size())
                .map(named -> named.hosts().get(id).slots())
                .orElse(OptionalInt.empty());
        return slots.isPresent() ? new WorkerCount.Exactly(slots.getAsInt()) : placement.perNode();
    }

    /** What workers may use of such a node's GPUs. */
    public GpuSubset gpusOn(int id) {
        return cluster.filter(named -> id < named.hosts().size())
                .map(named -> named.hosts().get(id).gpus())
                .orElse(GpuSubset.ALL);
    }

    /** How the jruns of its nodes meet, if that is how it was started. */
    public Optional<RendezvousSettings> meeting() {
        return cluster.map(Cluster::reach)
                .filter(Cluster.Met.class::isInstance)
                .map(reach -> ((Cluster.Met) reach).meeting());
    }
}
