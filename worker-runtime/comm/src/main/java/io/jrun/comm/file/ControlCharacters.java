package io.jrun.comm.file;

import java.util.regex.Pattern;

/** Text of files in messages. A file from an unknown source must not control the user's terminal. Stateless. */
public final class ControlCharacters {
    private static final Pattern CONTROL = Pattern.compile("[\\p{IsControl}&&[^\n\t]]");

    private ControlCharacters() {}

    /** The text with '?' for each control character but the end of a line and the tabulator. */
    public static String replaced(String text) {
        return CONTROL.matcher(text).replaceAll("?");
    }
}
