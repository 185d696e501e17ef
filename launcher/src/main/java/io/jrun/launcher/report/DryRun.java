package io.jrun.launcher.report;

import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.List;

/** The rank map as a table for people. Stateless. */
public final class DryRun {
    private DryRun() {}

    /**
     * A line for each rank under a line of headings.
     *
     * @param commands by rank
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
     * How the nodes may come and go, if they may.
     *
     * @param standingBy hosts without ranks at the beginning
     */
    public static List<String> nodes(NodePolicy policy, List<String> standingBy) {
        List<String> lines = new ArrayList<>();
        if (policy.min() < policy.max()) {
            lines.add("goes on with " + policy.min() + " to " + policy.max()
                    + " nodes: where one is missing, the ranks behind it move up");
        }
        if (!standingBy.isEmpty()) {
            lines.add("stand by, for nodes that are lost: " + String.join(", ", standingBy));
        }
        return lines;
    }

    /** What nodes that lack it would be sent, a line for each file or folder. */
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

    /** A command as one could type it. */
    public static String quoted(List<String> command) {
        return String.join(" ", command.stream().map(DryRun::quoted).toList());
    }

    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
