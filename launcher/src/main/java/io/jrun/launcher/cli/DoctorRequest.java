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
    public static DoctorRequest parse(List<String> args, CommandContext commandContext) {
        OptionScanner.Scanned parsed = OptionScanner.scan(args);
        Optional<String> stranger = parsed.options().keySet().stream()
                .filter(option -> !TAKEN.contains(option))
                .map(LaunchOption::longName)
                .findFirst()
                .or(() -> parsed.words().stream().findFirst());
        if (stranger.isPresent()) {
            throw new UsageException("jrun doctor does not take '" + stranger.get() + "'; usage: " + USAGE + ".");
        }
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(parsed);
        boolean json = settings.isOn(LaunchOption.JSON);
        settings.addEnvironment(commandContext.environment());
        return new DoctorRequest(
                new ClusterReader(settings, commandContext, new PlacementOptions(settings)).read(), json);
    }

    /** What {@code jrun doctor --help} prints. */
    public static String help() {
        HelpPage page = new HelpPage("jrun doctor [options]")
                .about(
                        "Checks that this machine, each host and every connection between two hosts has what jobs need, and"
                                + " says what to do. Hosts are named and reached as for a job; --launch=local checks this machine only."
                                + " Exit code 1: there is a problem.");
        for (LaunchOption option : TAKEN) {
            page.option(HelpPage.of(
                    option,
                    option == LaunchOption.JSON
                            ? "Print one JSON object instead of text."
                            : option.descriptionAndDefault()));
        }
        return page.option(HelpPage.help()).text();
    }

    /** The options of {@code jrun doctor}. */
    static List<String> optionNames() {
        return TAKEN.stream().flatMap(option -> option.names().stream()).toList();
    }
}
