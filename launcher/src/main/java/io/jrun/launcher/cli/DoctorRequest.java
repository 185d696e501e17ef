package io.jrun.launcher.cli;

import io.jrun.agent.container.ContainerSpec;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.UsageException;
import java.util.Optional;

/**
 * The command line of {@code jrun doctor}.
 *
 * @param cluster the hosts to check besides this machine
 * @param container the container to make on this machine, as a check; empty for none
 */
public record DoctorRequest(Optional<Cluster> cluster, Optional<ContainerSpec> container, boolean json) {
    /**
     * Reads the command line.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static DoctorRequest of(ParsedCommand line, CommandContext commandContext) {
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(line);
        settings.addEnvironment(commandContext.environment());
        Optional<Cluster> cluster = new ClusterReader(settings, commandContext, new PlacementOptions(settings)).read();
        return new DoctorRequest(
                cluster,
                new ContainerOptions(settings, commandContext).read(cluster.isPresent()),
                line.has(CommandOption.JSON));
    }
}
