package io.jrun.launcher.job;

import java.io.Serial;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The request of the user is impossible, and jrun has started nothing. The message is one line with a suggestion. The
 * exit code is 2.
 */
public final class UsageException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** The limit of a value in a message. Most paths are shorter. A value may be as long as a whole file. */
    private static final int MOST_VALUE_CHARS = 200;

    /** The number of characters that the message shows of each end of a long value. */
    private static final int KEPT_CHARS = 60;

    /** A quoted value or a word that exceeds the limit. */
    private static final Pattern LONG_VALUE =
            Pattern.compile("'[^']{" + MOST_VALUE_CHARS + ",}'|\\S{" + MOST_VALUE_CHARS + ",}");

    /** The limit of a message: several values and a sentence. */
    private static final int MOST_CHARS = 1000;

    /** The number of characters that a shortened message keeps at its end. The end has the advice. */
    private static final int KEPT_AT_END = 400;

    /** @param message the line for the user. Control characters in the line become escapes. */
    public UsageException(String message) {
        super(shortened(oneLine(message)));
    }

    private static String shortened(String line) {
        String cut = LONG_VALUE
                .matcher(line)
                .replaceAll(value -> Matcher.quoteReplacement(withoutMiddle(value.group(), KEPT_CHARS, KEPT_CHARS)));
        return cut.length() <= MOST_CHARS ? cut : withoutMiddle(cut, MOST_CHARS - KEPT_AT_END, KEPT_AT_END);
    }

    private static String withoutMiddle(String text, int first, int last) {
        return text.substring(0, first) + "[...]" + text.substring(text.length() - last);
    }

    private static String oneLine(String message) {
        StringBuilder line = new StringBuilder(message.length());
        message.codePoints().forEach(c -> {
            switch (Character.getType(c)) {
                case Character.CONTROL,
                        Character.FORMAT,
                        Character.LINE_SEPARATOR,
                        Character.PARAGRAPH_SEPARATOR,
                        Character.SURROGATE -> line.append(escaped(c));
                default -> line.appendCodePoint(c);
            }
        });
        return line.toString();
    }

    private static String escaped(int c) {
        return switch (c) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            case 0 -> "\\0";
            default -> "\\u%04x".formatted(c);
        };
    }
}
