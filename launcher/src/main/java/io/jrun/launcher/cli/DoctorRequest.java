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
            LaunchOption.HOSTS,
            LaunchOption.HOSTFILE,
            LaunchOption.SECRET_FILE,
            LaunchOption.AGENT_PORT);

    private static final String USAGE =
            "jrun doctor [--json] [--hosts=HOSTS|--hostfile=PATH --secret-file=PATH [--agent-port=PORT]]";

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
        if (!settings.has(LaunchOption.HOSTS) && !settings.has(LaunchOption.HOSTFILE)) {
            return new DoctorRequest(Optional.empty(), json);
        }
        settings.add(LaunchOption.LAUNCH, new Settings.Setting(List.of("hosts"), LaunchOption.LAUNCH.longName(), ""));
        settings.addEnvironment(surroundings.environment());
        return new DoctorRequest(
                new ClusterReader(settings, surroundings, new PlacementOptions(settings)).read(), json);
    }

    /** What {@code jrun doctor --help} prints. */
    public static String help() {
        return "Usage: " + USAGE + "\n"
                + "Says whether this machine, and with --hosts each host and every way between two of them, has what jobs\n"
                + "need; a line each, with what to do. On the hosts standing agents are asked, as for a job.\n";
    }
}
