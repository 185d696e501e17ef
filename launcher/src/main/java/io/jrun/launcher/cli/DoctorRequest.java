package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What {@code jrun doctor} was asked for.
 *
 * @param cluster the hosts to look at besides this machine
 */
public record DoctorRequest(Optional<Cluster> cluster, boolean json) {
    private static final Set<LaunchOption> TAKEN = EnumSet.of(
            LaunchOption.JSON,
            LaunchOption.LAUNCH,
            LaunchOption.HOSTS,
            LaunchOption.HOSTFILE,
            LaunchOption.INCLUDE,
            LaunchOption.EXCLUDE,
            LaunchOption.SECRET_FILE,
            LaunchOption.AGENT_PORT,
            LaunchOption.SSH_OPTIONS,
            LaunchOption.REMOTE_JRUN);

    private static final String USAGE =
            "jrun doctor [--json] [--launch=auto|local|hosts|ssh|slurm] [--hosts=HOSTS|--hostfile=PATH]";

    /**
     * Reads the words after {@code doctor}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static DoctorRequest parse(List<String> args, Surroundings surroundings) {
        OptionScanner.Scanned parsed = OptionScanner.scan(args);
        Optional<String> stranger = parsed.options().keySet().stream()
                .filter(option -> !TAKEN.contains(option))
                .map(LaunchOption::longName)
                .findFirst()
                .or(() -> parsed.words().stream().findFirst());
        if (stranger.isPresent()) {
            throw new UsageException("jrun doctor does not take '" + stranger.get() + "'; usage: " + USAGE + ".");
        }
        Settings settings = Settings.ofCommandLine(parsed);
        boolean json = settings.isOn(LaunchOption.JSON);
        settings.addEnvironment(surroundings.environment());
        return new DoctorRequest(
                new ClusterReader(settings, surroundings, new PlacementOptions(settings)).read(), json);
    }

    /** What {@code jrun doctor --help} prints. */
    public static String help() {
        return "Usage: " + USAGE + "\n"
                + "Says whether this machine, and each host and every way between two of them, has what jobs need; a line each,\n"
                + "with what to do. Hosts are named and reached as for a job: by standing agents (--secret-file, --agent-port),\n"
                + "by ssh (--ssh-options, --remote-jrun), or, in a Slurm allocation, by srun; --launch=local looks at none.\n";
    }
}
