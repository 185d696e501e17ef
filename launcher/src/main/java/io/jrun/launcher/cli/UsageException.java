package io.jrun.launcher.cli;

import java.io.Serial;

/** What the user asked for cannot be done; nothing was started. The message is one line with a suggestion; exit code 2. */
public final class UsageException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** Room for a long path and a sentence. A message repeats what the user gave, and that may be a whole file. */
    private static final int MOST_CHARS = 1200;

    /** What to do stands at a message's end, so a message that is too long loses its middle. */
    private static final int KEPT_AT_END = 500;

    /** With the line the user will read. Control characters in the line are shown as escapes. */
    public UsageException(String message) {
        super(shortened(oneLine(message)));
    }

    private static String shortened(String line) {
        return line.length() <= MOST_CHARS
                ? line
                : line.substring(0, MOST_CHARS - KEPT_AT_END) + " [...] " + line.substring(line.length() - KEPT_AT_END);
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
