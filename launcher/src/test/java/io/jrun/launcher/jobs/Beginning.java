package io.jrun.launcher.jobs;

import java.util.List;
import java.util.regex.Pattern;

/** The line of a rank of an elastic program at the begin of a round. */
record Beginning(int rank, int size, String pid, int step) {
    private static final Pattern LINE =
            Pattern.compile("\\[\\d+@[^]]+] rank (\\d+) of (\\d+) \\(pid (\\d+)\\) begins at step (\\d+)");

    /** All in {@code output}, as they came. */
    static List<Beginning> in(String output) {
        return LINE.matcher(output)
                .results()
                .map(match -> new Beginning(
                        Integer.parseInt(match.group(1)),
                        Integer.parseInt(match.group(2)),
                        match.group(3),
                        Integer.parseInt(match.group(4))))
                .toList();
    }

    /** The processes that have had {@code rank}, as they came. */
    static List<String> pids(List<Beginning> beginnings, int rank) {
        return beginnings.stream()
                .filter(each -> each.rank() == rank)
                .map(Beginning::pid)
                .toList();
    }

    /** The number of ranks that have entered a world of {@code size}. */
    static long count(String output, int size) {
        return in(output).stream().filter(each -> each.size() == size).count();
    }
}
