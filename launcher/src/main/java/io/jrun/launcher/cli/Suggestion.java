package io.jrun.launcher.cli;

import java.util.Collection;
import java.util.Optional;

/** Finds what a mistyped word was meant to be. Stateless. */
public final class Suggestion {
    private Suggestion() {}

    /** " Did you mean 'x'?" for the nearest candidate, or "" if none is near. */
    public static String didYouMean(String word, Collection<String> candidates) {
        return nearest(word, candidates)
                .map(name -> " Did you mean '" + name + "'?")
                .orElse("");
    }

    /** The candidate with the fewest edits, if that is at most a third of the word's length (and at least 2). */
    static Optional<String> nearest(String word, Collection<String> candidates) {
        int limit = Math.max(2, word.length() / 3);
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

    /** Levenshtein's distance, one row at a time. */
    static int distance(String left, String right) {
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                int replaced = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[right.length()];
    }
}
