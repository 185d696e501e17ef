package io.jrun.launcher.job;

import java.util.Optional;
import java.util.Set;

/**
 * What of the workers' output the console shows.
 *
 * @param redirects streams that go to files only
 * @param tee streams that go to the console whatever {@code redirects} says
 * @param localRanks the local ranks shown, empty for all
 * @param ranks the global ranks shown, empty for all
 * @param prefixed whether lines carry rank and host
 * @param terminals where it is a terminal
 */
public record ConsoleSettings(
        StreamChoice redirects,
        StreamChoice tee,
        Optional<Set<Integer>> localRanks,
        Optional<Set<Integer>> ranks,
        boolean prefixed,
        TerminalStreams terminals) {
    /** Whether stdout of this worker is shown. */
    public boolean showsStdout(int rank, int localRank) {
        return chooses(rank, localRank) && (tee.hasStdout(localRank) || !redirects.hasStdout(localRank));
    }

    /** Whether stderr of this worker is shown. */
    public boolean showsStderr(int rank, int localRank) {
        return chooses(rank, localRank) && (tee.hasStderr(localRank) || !redirects.hasStderr(localRank));
    }

    /** Whether such a worker may be among ranks below {@code worldSize}, with local ranks below {@code mostLocal}. */
    public boolean choosesBelow(int worldSize, int mostLocal) {
        return ranks.map(chosen -> chosen.stream().anyMatch(rank -> rank < worldSize))
                        .orElse(true)
                && localRanks
                        .map(chosen -> chosen.stream().anyMatch(localRank -> localRank < mostLocal))
                        .orElse(true);
    }

    /** Whether this worker is among those that may be shown. */
    public boolean chooses(int rank, int localRank) {
        return ranks.map(chosen -> chosen.contains(rank)).orElse(true)
                && localRanks.map(chosen -> chosen.contains(localRank)).orElse(true);
    }
}
