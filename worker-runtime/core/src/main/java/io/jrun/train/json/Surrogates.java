package io.jrun.train.json;

import java.util.Locale;

/** Halves of surrogate pairs. Java's strings may have such a half; UTF-8 has no form of it, and Java writes '?'. */
final class Surrogates {
    private Surrogates() {}

    /** The index of the first surrogate without its other half; -1 if there is none. */
    static int half(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isSurrogate(c)) {
                if (i + 1 == text.length() || !Character.isSurrogatePair(c, text.charAt(i + 1))) {
                    return i;
                }
                i++;
            }
        }
        return -1;
    }

    /** The escape of a character, for example {@code \ud83d}. */
    static String name(char c) {
        return String.format(Locale.ROOT, "\\u%04x", (int) c);
    }
}
