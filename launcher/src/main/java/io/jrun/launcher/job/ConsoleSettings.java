package io.jrun.launcher.job;

import java.util.Optional;
import java.util.Set;

/**
 * The part of the workers' output that the console shows.
 *
 * @param redirects streams that go to files only
 * @param tee streams that go to the console in spite of {@code redirects}
 * @param localRanks the local ranks shown, empty for all
 * @param ranks the global ranks shown, empty for all
 * @param prefixed whether lines carry rank and host
 * @param prefixTemplate the form of the prefix, with placeholders; empty for rank and host
 * @param terminals which of jrun's streams are terminals
 */
public record ConsoleSettings(
        StreamChoice redirects,
        StreamChoice tee,
        Optional<Set<Integer>> localRanks,
        Optional<Set<Integer>> ranks,
        boolean prefixed,
        Optional<String> prefixTemplate,
        TerminalStreams terminals) {
    /** Whether the console shows the stdout of this worker. */
    public boolean printsStdout(int rank, int localRank) {
        return selects(rank, localRank) && (tee.hasStdout(localRank) || !redirects.hasStdout(localRank));
    }

    /** Whether the console shows the stderr of this worker. */
    public boolean printsStderr(int rank, int localRank) {
        return selects(rank, localRank) && (tee.hasStderr(localRank) || !redirects.hasStderr(localRank));
    }

    /** Whether the filters select a rank below {@code worldSize} with a local rank below {@code mostLocal}. */
    public boolean selectsAnyBelow(int worldSize, int mostLocal) {
        return ranks.map(chosen -> chosen.stream().anyMatch(rank -> rank < worldSize))
                        .orElse(true)
                && localRanks
                        .map(chosen -> chosen.stream().anyMatch(localRank -> localRank < mostLocal))
                        .orElse(true);
    }

    /** Whether the filters select this worker. */
    public boolean selects(int rank, int localRank) {
        return ranks.map(chosen -> chosen.contains(rank)).orElse(true)
                && localRanks.map(chosen -> chosen.contains(localRank)).orElse(true);
    }
}
