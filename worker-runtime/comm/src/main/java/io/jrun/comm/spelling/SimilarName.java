package io.jrun.comm.spelling;

import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * Finds the name that a user probably meant by a mistyped one. A wrong guess is worse than none, so a name counts only
 * if few of its letters differ and no other name is as near. Dashes in front of names do not count as letters. Stateless.
 */
public final class SimilarName {
    /** The limit of letters in a word. All names are shorter, and long words would take long to compare. */
    private static final int MOST_LETTERS = 256;

    /** The least number of letters of a word for which a name may differ, or may be longer. */
    private static final int LEAST_LETTERS = 3;

    /** One further edit is allowed for each so many letters of a word. */
    private static final int LETTERS_PER_EDIT = 5;

    private static final int MOST_EDITS = 3;

    private SimilarName() {}

    /**
     * The only name that begins with {@code word}, else the only one with the fewest edits. The shorter one of word and
     * name decides how many edits count: one below 5 letters, and one more for each 5 letters, at most 3. A word with more
     * than one edit begins with the letter of the name.
     */
    public static Optional<String> of(String word, Collection<String> names) {
        String letters = letters(word);
        if (letters.length() < LEAST_LETTERS || letters.length() > MOST_LETTERS) {
            return Optional.empty();
        }
        List<String> longer =
                names.stream().filter(name -> letters(name).startsWith(letters)).toList();
        return longer.size() == 1 ? Optional.of(longer.getFirst()) : nearest(letters, names);
    }

    private static Optional<String> nearest(String letters, Collection<String> names) {
        String best = null;
        int fewest = MOST_EDITS + 1;
        boolean isOnly = true;
        for (String name : names) {
            String other = letters(name);
            int edits = distance(letters, other);
            int limit = 1 + Math.min(letters.length(), other.length()) / LETTERS_PER_EDIT;
            boolean isMeant = edits <= 1 || (edits <= limit && other.charAt(0) == letters.charAt(0));
            if (isMeant && edits < fewest) {
                best = name;
                fewest = edits;
                isOnly = true;
            } else if (isMeant && edits == fewest) {
                isOnly = false;
            }
        }
        return isOnly ? Optional.ofNullable(best) : Optional.empty();
    }

    private static String letters(String name) {
        return name.replaceFirst("^-+", "");
    }

    /** The number of edits between two words. An edit adds, removes or replaces a letter, or swaps two neighbours. */
    public static int distance(String left, String right) {
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
