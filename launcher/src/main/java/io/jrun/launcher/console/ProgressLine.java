package io.jrun.launcher.console;

import io.jrun.launcher.console.LogMultiplexer.LogSource;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The progress bar at the bottom of a terminal. A worker ends the text with a carriage return and not with a newline,
 * and later replaces the text. The terminal shows only the latest progress line of all workers. Guarded by the lock of
 * the screen.
 */
final class ProgressLine {
    private static final byte[] CLEAR = bytes("\r\033[K");

    /** The code that makes the terminal cut wide lines. A wrapped line could not be replaced. */
    private static final byte[] NO_WRAP = bytes("\033[?7l");

    private static final byte[] WRAP = bytes("\033[?7h");

    private final RankPrefix prefix;
    private @Nullable LogSource owner;
    private byte[] text = {};

    ProgressLine(RankPrefix prefix) {
        this.prefix = prefix;
    }

    /** Returns the codes that clear the progress line, so that whole lines have its place. */
    byte[] clear() {
        return owner == null ? new byte[0] : CLEAR;
    }

    /** Returns the text that shows the progress line again. */
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
     * Removes the progress line from {@code data} and returns the other lines with their prefix.
     *
     * @param continued whether {@code data} begins inside a line
     * @param last whether {@code data} is the last chunk of its stream
     */
    byte[] take(LogSource source, WorkerPlace place, byte[] data, boolean continued, boolean last) {
        ByteArrayOutputStream lines = new ByteArrayOutputStream(data.length);
        int start = 0;
        for (int end = 0; end < data.length; end++) {
            if (data[end] == '\n') {
                line(source, labelled(source, place, data, start, end, continued), end == start, lines);
                start = end + 1;
            } else if (data[end] == '\r') {
                if (end > start) {
                    owner = source;
                    text = labelled(source, place, data, start, end, continued);
                }
                start = end + 1;
            }
        }
        if (start < data.length) {
            line(source, labelled(source, place, data, start, data.length, continued), false, lines);
        }
        if (last && source.equals(owner)) {
            line(source, text, true, lines);
        }
        return lines.toByteArray();
    }

    /** Adds a line. A newline after a carriage return keeps the text of the line, as on every terminal. */
    private void line(LogSource source, byte[] line, boolean empty, ByteArrayOutputStream lines) {
        boolean live = source.equals(owner);
        lines.writeBytes(live && empty ? text : line);
        lines.write('\n');
        if (live) {
            owner = null;
        }
    }

    private byte[] labelled(LogSource source, WorkerPlace place, byte[] data, int start, int end, boolean continued) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        line.writeBytes(prefix.label(source.rank(), place, source.stderr(), start == 0 && continued));
        line.write(data, start, end - start);
        return line.toByteArray();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
