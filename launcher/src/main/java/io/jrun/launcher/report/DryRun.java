package io.jrun.launcher.report;

import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.List;

/** Prints the rank map as a table. Stateless. */
public final class DryRun {
    private DryRun() {}

    /**
     * Returns a line of headings and one line for each rank.
     *
     * @param commands the commands, by rank
     */
    public static List<String> table(List<Placement> placements, List<List<String>> commands) {
        int hostWidth = width("NODE", placements.stream().map(Placement::host).toList());
        int deviceWidth =
                width("DEVICE", placements.stream().map(DryRun::device).toList());
        String format = "%4s  %-" + hostWidth + "s  %10s  %-" + deviceWidth + "s  %s";
        List<String> lines = new ArrayList<>();
        lines.add(format.formatted("RANK", "NODE", "LOCAL RANK", "DEVICE", "COMMAND"));
        for (Placement place : placements) {
            lines.add(format.formatted(
                    place.rank(), place.host(), place.localRank(), device(place), quoted(commands.get(place.rank()))));
        }
        return lines;
    }

    /**
     * Returns how many nodes the job may have, if the number may change.
     *
     * @param standingBy hosts without ranks at the start
     */
    public static List<String> nodes(NodePolicy policy, List<String> standingBy) {
        List<String> lines = new ArrayList<>();
        if (policy.min() < policy.max()) {
            lines.add("continues with " + policy.min() + " to " + policy.max()
                    + " nodes: if a node is missing, the ranks behind the gap move up");
        }
        if (!standingBy.isEmpty()) {
            lines.add("standby hosts, for lost nodes: " + String.join(", ", standingBy));
        }
        return lines;
    }

    /** Returns one line for each file or folder that jrun sends to nodes that lack it. */
    public static List<String> files(JobFiles files) {
        List<String> lines = new ArrayList<>();
        for (JobFiles.Tree tree : files.trees()) {
            int count = tree.entries().size();
            lines.add("sent to hosts that lack it: " + tree.path() + " (" + (count == 1 ? "" : count + " files, ")
                    + tree.bytes() + " bytes)");
        }
        return lines;
    }

    private static String device(Placement place) {
        return place.gpu().isEmpty() ? "-" : "gpu " + place.gpu();
    }

    private static int width(String heading, List<String> texts) {
        return texts.stream().mapToInt(String::length).reduce(heading.length(), Math::max);
    }

    /** Returns a command as a user types it in a shell. */
    public static String quoted(List<String> command) {
        return String.join(" ", command.stream().map(DryRun::quoted).toList());
    }

    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
