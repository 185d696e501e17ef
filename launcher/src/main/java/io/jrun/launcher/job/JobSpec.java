package io.jrun.launcher.job;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The complete, checked description of a job. The command line makes it before anything starts.
 *
 * @param runId the name of the job and of its log folder
 * @param logDirectory absolute path; the folder of the job is {@code logDirectory/runId}
 * @param logs the most that each stream of a worker keeps on disk, empty for everything
 * @param timeout time limit of the job, empty for no limit
 * @param cluster the hosts of the job, empty for this machine with the agent inside the launcher
 */
public record JobSpec(
        String runId,
        Program program,
        PlacementRules placement,
        WorkerSettings workers,
        Path logDirectory,
        Optional<LogRetention> logs,
        ConsoleSettings console,
        StopPolicy stop,
        LivenessSettings liveness,
        NodePolicy nodes,
        Optional<Duration> timeout,
        Optional<Cluster> cluster,
        boolean dryRun,
        boolean json,
        ObservationSettings observation) {

    /** The rules by which the job stops and restarts. */
    public record StopPolicy(int maxRestarts, Duration gracePeriod, Set<StopSignal> signals) {
        public StopPolicy {
            signals = Set.copyOf(signals);
        }
    }

    /**
     * The number of workers of a node, by its position among the named hosts. A node that is not named has the default
     * number.
     */
    public WorkerCount workersOn(int id) {
        OptionalInt slots = cluster.filter(named -> id < named.hosts().size())
                .map(named -> named.hosts().get(id).slots())
                .orElse(OptionalInt.empty());
        return slots.isPresent() ? new WorkerCount.Exactly(slots.getAsInt()) : placement.perNode();
    }

    /** Whether no option and no host list counts the workers of such a node. */
    public boolean isCountedByDefault(int id) {
        return workersOn(id) instanceof WorkerCount.ByDefault;
    }

    /** The GPUs that workers may use on such a node. */
    public GpuSubset gpusOn(int id) {
        return cluster.filter(named -> id < named.hosts().size())
                .map(named -> named.hosts().get(id).gpus())
                .orElse(GpuSubset.ALL);
    }

    /** The settings of the rendezvous, if one jrun was started on each node. */
    public Optional<RendezvousSettings> rendezvous() {
        return cluster.map(Cluster::reach)
                .filter(Cluster.ByRendezvous.class::isInstance)
                .map(reach -> ((Cluster.ByRendezvous) reach).rendezvous());
    }
}
