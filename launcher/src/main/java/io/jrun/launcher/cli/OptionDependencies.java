package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.UsageException;
import java.util.List;
import java.util.Optional;

/**
 * Refuses options that would have no effect in this job. Checks only the options of the command line, because a job
 * file or the environment may hold options for other jobs. Confined to one thread.
 */
final class OptionDependencies {
    private final ResolvedOptions settings;

    OptionDependencies(ResolvedOptions settings) {
        this.settings = settings;
    }

    /** @param cluster the hosts, empty for this machine only */
    void check(Optional<Cluster> cluster, NodePolicy nodes) {
        Optional<Cluster.Reach> reach = cluster.map(Cluster::reach);
        boolean standing = reach.filter(Cluster.Standing.class::isInstance).isPresent();
        boolean ssh = reach.filter(Cluster.Ssh.class::isInstance).isPresent();
        boolean restarts = !settings.text(LaunchOption.MAX_RESTARTS, "0").equals("0");
        boolean rdzv = RendezvousOptionsReader.namesEndpoint(settings);
        need(LaunchOption.AGENT_PORT, standing, "is for standing agents, and this job uses none; see --hosts");
        need(LaunchOption.SECRET_FILE, standing || rdzv, "is for standing agents, and this job uses none; see --hosts");
        need(LaunchOption.SSH_OPTIONS, ssh, "is for hosts that ssh reaches, and this job has none; see --launch");
        need(LaunchOption.REMOTE_JRUN, ssh, "is for hosts that ssh reaches, and this job has none; see --launch");
        need(LaunchOption.JOIN_TIMEOUT, cluster.isPresent(), "is for jobs on several hosts; see --hosts");
        need(LaunchOption.NODE_COOLDOWN, nodes.isElastic(), "is for jobs with --nnodes MIN:MAX or --spares");
        need(LaunchOption.RESTART_WINDOW, restarts, "limits restarts, but --max-restarts is 0");
        boolean named = standing || ssh;
        need(
                LaunchOption.NPROC_PER_NODE,
                !named
                        || settings.has(LaunchOption.NTASKS)
                        || countsWorkers(cluster.get().hosts()),
                "counts for hosts without a number, but each host has its own number of workers");
        for (LaunchOption option : List.of(
                LaunchOption.RDZV_ENDPOINT,
                LaunchOption.MASTER_ADDR,
                LaunchOption.NODE_RANK,
                LaunchOption.LOCAL_ADDR)) {
            need(option, !named, "is for one jrun on each node, but this jrun starts all named hosts");
        }
    }

    /** Whether the option sets or repeats the number of workers of a host. */
    private boolean countsWorkers(List<Cluster.Host> hosts) {
        String number = settings.text(LaunchOption.NPROC_PER_NODE, "").strip();
        return hosts.stream()
                .anyMatch(host -> host.slots().isEmpty()
                        || (!host.gpus().isAll() && number.equals("gpu"))
                        || number.equals(Integer.toString(host.slots().getAsInt())));
    }

    private void need(LaunchOption option, boolean isInUse, String otherwise) {
        boolean typed = settings.get(option)
                .filter(setting -> setting.source().isEmpty())
                .isPresent();
        if (typed && !isInUse) {
            throw new UsageException(option.longName() + " " + otherwise + ". Leave it out.");
        }
    }
}
