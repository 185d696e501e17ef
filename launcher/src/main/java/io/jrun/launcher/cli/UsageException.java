package io.jrun.launcher.cli;

import java.io.Serial;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the user asked for cannot be done; nothing was started. The message is one line with a suggestion; exit code 2.
 */
public final class UsageException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** Longer than paths usually are. A message repeats what the user gave, and that may be a whole file. */
    private static final int MOST_VALUE_CHARS = 200;

    /** Of a value that is cut: how much of its beginning and of its end the message shows. */
    private static final int KEPT_CHARS = 60;

    /** A quoted value or a word that is longer. */
    private static final Pattern LONG_VALUE =
            Pattern.compile("'[^']{" + MOST_VALUE_CHARS + ",}'|\\S{" + MOST_VALUE_CHARS + ",}");

    /** Several values and a sentence. */
    private static final int MOST_CHARS = 1000;

    /** What to do stands at the end of a message, so that a message that is too long loses its middle. */
    private static final int KEPT_AT_END = 400;

    /** With the line the user will read. Control characters in the line are shown as escapes. */
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
