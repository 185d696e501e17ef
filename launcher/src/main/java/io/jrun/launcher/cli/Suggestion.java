package io.jrun.launcher.cli;

import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** Finds what a mistyped word was meant to be. Stateless. */
public final class Suggestion {
    /** No candidate is as long, and the distance takes time in proportion to the length. */
    private static final int MOST_CHARS = 256;

    private Suggestion() {}

    /** "; did you mean 'x'?" for the nearest candidate, or "." if none is near: the end of a message. */
    public static String didYouMean(String word, Collection<String> candidates) {
        return nearest(word, candidates)
                .map(name -> "; did you mean '" + name + "'?")
                .orElse(".");
    }

    /**
     * The only candidate that begins with {@code word}, else the one with the fewest edits, if that is at most a third
     * of the word's length (and at least 2).
     */
    static Optional<String> nearest(String word, Collection<String> candidates) {
        List<String> longer = candidates.stream()
                .filter(candidate -> word.length() > 3 && candidate.startsWith(word))
                .toList();
        return longer.size() == 1
                ? Optional.of(longer.getFirst())
                : nearest(word, candidates, Math.max(2, word.length() / 3));
    }

    /** The candidate with the fewest edits, if there are at most {@code limit}. */
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

    /** The edits from one word to the other: a letter added, left out or replaced, or two neighbours exchanged. */
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
