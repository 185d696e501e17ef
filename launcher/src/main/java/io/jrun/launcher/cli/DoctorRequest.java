package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import java.util.Optional;

/**
 * What {@code jrun doctor} was asked for.
 *
 * @param cluster the hosts to look at besides this machine
 */
public record DoctorRequest(Optional<Cluster> cluster, boolean json) {
    /**
     * Reads the command line.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static DoctorRequest of(ParsedCommand line, CommandContext commandContext) {
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(line);
        settings.addEnvironment(commandContext.environment());
        return new DoctorRequest(
                new ClusterReader(settings, commandContext, new PlacementOptions(settings)).read(),
                line.has(CommandOption.JSON));
    }
}
