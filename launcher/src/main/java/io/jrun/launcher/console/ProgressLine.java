package io.jrun.launcher.console;

import io.jrun.launcher.console.LogMultiplexer.LogSource;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The line at the bottom of a terminal that its worker paints over, such as a progress bar: what ends with a carriage
 * return and not with a newline. Of several workers' lines the latest is shown. Confined to whoever holds the screen's
 * lock.
 */
final class ProgressLine {
    private static final byte[] CLEAR = bytes("\r\033[K");

    /** What is wider than the terminal is cut: a line that wraps could not be painted over. */
    private static final byte[] NO_WRAP = bytes("\033[?7l");

    private static final byte[] WRAP = bytes("\033[?7h");

    private final RankPrefix prefix;
    private @Nullable LogSource owner;
    private byte[] text = {};

    ProgressLine(RankPrefix prefix) {
        this.prefix = prefix;
    }

    /** Makes room for whole lines. */
    byte[] clear() {
        return owner == null ? new byte[0] : CLEAR;
    }

    /** Shows the line again. */
    byte[] paint() {
        ByteArrayOutputStream painted = new ByteArrayOutputStream();
        if (owner != null) {
            painted.writeBytes(NO_WRAP);
            painted.writeBytes(text);
            painted.writeBytes(WRAP);
        }
        return painted.toByteArray();
    }

    /**
     * Takes the live line out of {@code data} and returns the lines that stay, with their prefix.
     *
     * @param continued whether {@code data} begins inside a line
     * @param last whether it is the last of its stream
     */
    byte[] take(LogSource source, String host, byte[] data, boolean continued, boolean last) {
        ByteArrayOutputStream lines = new ByteArrayOutputStream(data.length);
        int start = 0;
        for (int end = 0; end < data.length; end++) {
            if (data[end] == '\n') {
                line(source, labelled(source, host, data, start, end, continued), end == start, lines);
                start = end + 1;
            } else if (data[end] == '\r') {
                if (end > start) {
                    owner = source;
                    text = labelled(source, host, data, start, end, continued);
                }
                start = end + 1;
            }
        }
        if (start < data.length) {
            line(source, labelled(source, host, data, start, data.length, continued), false, lines);
        }
        if (last && source.equals(owner)) {
            line(source, text, true, lines);
        }
        return lines.toByteArray();
    }

    /** As on any terminal, a newline after a carriage return leaves what stands there. */
    private void line(LogSource source, byte[] line, boolean empty, ByteArrayOutputStream lines) {
        boolean live = source.equals(owner);
        lines.writeBytes(live && empty ? text : line);
        lines.write('\n');
        if (live) {
            owner = null;
        }
    }

    private byte[] labelled(LogSource source, String host, byte[] data, int start, int end, boolean continued) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        line.writeBytes(prefix.label(source.rank(), host, source.stderr(), start == 0 && continued));
        line.write(data, start, end - start);
        return line.toByteArray();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
