package io.jrun.launcher.cli;

import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** Finds the candidate that is most similar to a mistyped word. Stateless. */
public final class Suggestion {
    /** The limit of characters in a word. All candidates are shorter, and long words would take long to compare. */
    private static final int MOST_CHARS = 256;

    private Suggestion() {}

    /** The end of a message: "; did you mean 'x'?" for the nearest candidate, or "." if no candidate is near. */
    public static String didYouMean(String word, Collection<String> candidates) {
        return nearest(word, candidates)
                .map(name -> "; did you mean '" + name + "'?")
                .orElse(".");
    }

    /**
     * The only candidate that begins with {@code word}, else the candidate with the fewest edits. The limit of edits is
     * a third of the length of the word, at least 2.
     */
    static Optional<String> nearest(String word, Collection<String> candidates) {
        List<String> longer = candidates.stream()
                .filter(candidate -> word.length() > 3 && candidate.startsWith(word))
                .toList();
        return longer.size() == 1
                ? Optional.of(longer.getFirst())
                : nearest(word, candidates, Math.max(2, word.length() / 3));
    }

    /** The candidate with the fewest edits, empty if all candidates need more than {@code limit} edits. */
    static Optional<String> nearest(String word, Collection<String> candidates, int limit) {
        if (word.length() > MOST_CHARS) {
            return Optional.empty();
        }
        String best = null;
        int bestDistance = limit + 1;
        for (String candidate : candidates) {
            int distance = distance(word, candidate);
            if (distance < bestDistance) {
                best = candidate;
                bestDistance = distance;
            }
        }
        return Optional.ofNullable(best);
    }

    /** The number of edits between two words. An edit adds, removes or replaces a letter, or swaps two neighbours. */
    static int distance(String left, String right) {
        int[][] edits = new int[left.length() + 1][right.length() + 1];
        for (int i = 0; i <= left.length(); i++) {
            for (int j = 0; j <= right.length(); j++) {
                edits[i][j] = i == 0 || j == 0 ? i + j : fewest(edits, left, i, right, j);
            }
        }
        return edits[left.length()][right.length()];
    }

    private static int fewest(int[][] edits, String left, int i, String right, int j) {
        int replaced = edits[i - 1][j - 1] + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
        int fewest = Math.min(replaced, 1 + Math.min(edits[i - 1][j], edits[i][j - 1]));
        boolean exchanged = i > 1
                && j > 1
                && left.charAt(i - 1) == right.charAt(j - 2)
                && left.charAt(i - 2) == right.charAt(j - 1);
        return exchanged ? Math.min(fewest, edits[i - 2][j - 2] + 1) : fewest;
    }
}
