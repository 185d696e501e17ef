package io.jrun.launcher.console;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Adds the prefix {@code [3@node1] } to each line. On a terminal each rank has its own colour. A line that is too long
 * arrives in pieces: each piece except the first has the prefix {@code [3@node1+] }. Immutable.
 */
public final class RankPrefix {
    private static final int[] COLOURS = {36, 32, 33, 35, 34, 96, 92, 93, 95, 94};

    private final boolean shown;
    private final boolean colouredOut;
    private final boolean colouredErr;

    /** @param shown whether lines get a prefix */
    public RankPrefix(boolean shown, boolean colouredOut, boolean colouredErr) {
        this.shown = shown;
        this.colouredOut = colouredOut;
        this.colouredErr = colouredErr;
    }

    /**
     * Returns the lines of {@code data} with the prefix. Adds a missing last newline and changes no other byte.
     *
     * @param continued whether {@code data} begins inside a line
     */
    byte[] apply(int rank, String host, boolean stderr, byte[] data, boolean continued) {
        if (data.length == 0) {
            return data;
        }
        byte[] label = label(rank, host, stderr, false);
        ByteArrayOutputStream lines = new ByteArrayOutputStream(data.length + data.length / 8 + 2 * label.length);
        int start = 0;
        while (start < data.length) {
            int end = start;
            while (end < data.length && data[end] != '\n') {
                end++;
            }
            lines.writeBytes(start == 0 && continued ? label(rank, host, stderr, true) : label);
            lines.write(data, start, end - start);
            lines.write('\n');
            start = end + 1;
        }
        return lines.toByteArray();
    }

    /** The prefix of a line or of a further piece of a line; empty if lines have no prefix. */
    byte[] label(int rank, String host, boolean stderr, boolean continued) {
        if (!shown) {
            return new byte[0];
        }
        boolean coloured = stderr ? colouredErr : colouredOut;
        String text = "[" + rank + "@" + host + (continued ? "+]" : "]");
        String shownText = coloured ? "\033[" + COLOURS[rank % COLOURS.length] + "m" + text + "\033[0m" : text;
        return (shownText + " ").getBytes(StandardCharsets.UTF_8);
    }
}
