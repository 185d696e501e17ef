package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import java.util.Optional;

/**
 * The command line of {@code jrun doctor}.
 *
 * @param cluster the hosts to check besides this machine
 */
public record DoctorRequest(Optional<Cluster> cluster, boolean json) {
    /**
     * Reads the command line.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static DoctorRequest of(ParsedCommand line, CommandContext commandContext) {
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(line);
        settings.addEnvironment(commandContext.environment());
        return new DoctorRequest(
                new ClusterReader(settings, commandContext, new PlacementOptions(settings)).read(),
                line.has(CommandOption.JSON));
    }
}
