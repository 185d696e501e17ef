package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.UsageException;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the number of nodes of a job, and its policy for lost and new nodes. Confined to one thread. */
final class NodeOptions {
    private static final Pattern RANGE = Pattern.compile("([1-9][0-9]{0,5})(?::([1-9][0-9]{0,5}))?");

    private final ResolvedOptions settings;
    private final Optional<Cluster> cluster;
    private final int named;

    /** @param cluster the named hosts, empty for this machine only */
    NodeOptions(ResolvedOptions settings, Optional<Cluster> cluster) {
        this.settings = settings;
        this.cluster = cluster;
        this.named = cluster.map(hosts -> hosts.hosts().size()).orElse(1);
    }

    /** Refuses a text that is neither a number of nodes nor {@code MIN:MAX}. */
    static void checkForm(String text, String name) {
        OptionValues.refuseLeadingZeros(text, name);
        Matcher range = RANGE.matcher(text.strip());
        if (!range.matches()
                || (range.group(2) != null && Integer.parseInt(range.group(1)) > Integer.parseInt(range.group(2)))) {
            throw OptionValues.refused(name, text, "a number of nodes, or MIN:MAX");
        }
    }

    NodePolicy policy() {
        if (settings.isOn(LaunchOption.STANDALONE) && cluster.isPresent()) {
            throw new UsageException(
                    settings.name(LaunchOption.STANDALONE) + " means this machine alone, but hosts are named.");
        }
        int spares = OptionValues.count(
                settings.text(LaunchOption.SPARES, "0"), settings.name(LaunchOption.SPARES), 0, Math.max(0, named - 1));
        String text = settings.text(LaunchOption.NNODES, Integer.toString(named - spares));
        Matcher range = RANGE.matcher(text.strip());
        if (!range.matches()) {
            throw OptionValues.refused(settings.name(LaunchOption.NNODES), text, "a number of nodes, or MIN:MAX");
        }
        int min = Integer.parseInt(range.group(1));
        int max = range.group(2) == null ? min : Integer.parseInt(range.group(2));
        check(text, min, max, spares);
        if (spares > 0 && settings.text(LaunchOption.MAX_RESTARTS, "0").equals("0")) {
            throw new UsageException(settings.name(LaunchOption.SPARES)
                    + ": a spare node joins the job at a restart, but --max-restarts is 0. Give at least 1.");
        }
        return new NodePolicy(
                min,
                max,
                Math.max(spares, named - max),
                time(LaunchOption.JOIN_TIMEOUT, "60"),
                settings.get(LaunchOption.RESTART_WINDOW).map(_ -> time(LaunchOption.RESTART_WINDOW, "")),
                time(LaunchOption.NODE_COOLDOWN, "30"));
    }

    /** Checks that --nnodes agrees with the number of named hosts. */
    private void check(String text, int min, int max, int spares) {
        boolean isRange = min < max;
        boolean fits = isRange ? min <= named : min == max && min == named - spares;
        if (!fits || (isRange && cluster.isEmpty())) {
            throw new UsageException(settings.name(LaunchOption.NNODES) + ": '" + text + "' is not usable; "
                    + (cluster.isPresent()
                            ? "the number of named hosts" + (spares > 0 ? ", less the spares," : "") + " is "
                                    + (named - spares) + "."
                            : "name the hosts with --hosts or --hostfile, or use 1."));
        }
    }

    private Duration time(LaunchOption option, String byDefault) {
        return OptionValues.time(settings.text(option, byDefault), settings.name(option));
    }
}
