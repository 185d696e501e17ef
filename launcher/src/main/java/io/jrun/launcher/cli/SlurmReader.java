package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.slurm.Allocation;
import io.jrun.launcher.slurm.AllocationException;
import io.jrun.launcher.slurm.JobQuery;
import io.jrun.launcher.slurm.SrunAccess;
import io.jrun.launcher.slurm.SrunPerTaskCheck;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Reads the Slurm allocation that jrun runs in. Confined to one thread. */
final class SlurmReader {
    private final ResolvedOptions settings;
    private final CommandContext commandContext;
    private final PlacementOptions placement;

    SlurmReader(ResolvedOptions settings, CommandContext commandContext, PlacementOptions placement) {
        this.settings = settings;
        this.commandContext = commandContext;
        this.placement = placement;
    }

    /**
     * Returns the nodes of the allocation, empty without an allocation.
     *
     * @param demanded whether the user has requested an allocation
     * @throws UsageException if the allocation is unusable
     */
    Optional<Cluster> read(boolean demanded) {
        // A worker that starts jrun uses its own node, not the allocation of the outer job.
        if (commandContext.environment().containsKey("JRUN_AGENT_SOCKET") && !demanded) {
            return Optional.empty();
        }
        SrunPerTaskCheck.explain(commandContext.environment()).ifPresent(words -> {
            throw new UsageException(words);
        });
        try {
            Optional<Allocation> allocation = Allocation.of(commandContext.environment(), JobQuery::scontrol);
            if (allocation.isEmpty() && demanded) {
                throw new UsageException(settings.name(LaunchOption.LAUNCH)
                        + " slurm needs a Slurm allocation (a batch script or salloc); 'jrun submit' submits a job.");
            }
            if (allocation.isPresent() && !settings.isOn(LaunchOption.DRY_RUN)) {
                Optional<String> problem = SrunAccess.problem(commandContext.environment(), allocation.get());
                if (problem.isPresent()) {
                    return withoutSrun(allocation.get(), problem.get(), demanded);
                }
            }
            return allocation.map(this::cluster);
        } catch (AllocationException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    /** This node alone, with the workers of the allocation, if it is the whole allocation. */
    private Optional<Cluster> withoutSrun(Allocation allocation, String problem, boolean demanded) {
        if (demanded || !SrunAccess.isThisNode(commandContext.environment(), allocation)) {
            int nodes = allocation.nodes().size();
            throw new UsageException("Slurm job " + allocation.jobId() + " has " + nodes
                    + (nodes == 1 ? " node" : " nodes") + ", and jrun starts its agents with srun, but " + problem
                    + ". Run jrun outside the container (--container-image puts the workers into it), or on this node"
                    + " alone with --launch=local.");
        }
        placement.countHere(allocation.hosts().getFirst().slots().orElse(1));
        return Optional.empty();
    }

    private Cluster cluster(Allocation allocation) {
        List<Host> hosts = allocation.hosts();
        String countedBy = allocation.countedBy();
        Optional<String> counting = placement.countingOption();
        if (counting.isPresent()) {
            hosts = hosts.stream()
                    .map(host -> new Host(host.name(), OptionalInt.empty()))
                    .toList();
            countedBy = "as " + counting.get() + " says";
        }
        if (settings.has(LaunchOption.NTASKS)) {
            countedBy = "as " + settings.name(LaunchOption.NTASKS) + " says";
        }
        return new Cluster(
                placement.choose(hosts),
                allocation.reach(countedBy, commandContext.command().toString()));
    }
}
