package io.jrun.train.json;

/** Text of a file in a message. A file from an unknown source must neither forge further lines nor fill a log. */
public final class OneLine {
    /** Long enough for a path, a reason and a remedy. */
    private static final int MAX_LENGTH = 2_000;

    private OneLine() {}

    /** The text with '?' for each control character, cut behind 2,000 characters. */
    public static String of(String text) {
        String cut = text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "...";
        StringBuilder line = new StringBuilder(cut.length());
        for (int i = 0; i < cut.length(); i++) {
            line.append(Character.isISOControl(cut.charAt(i)) ? '?' : cut.charAt(i));
        }
        return line.toString();
    }
}
