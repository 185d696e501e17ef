package io.jrun.launcher.jobs;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The size of the terminal of this process, in characters. Immutable. */
record TerminalSize(int rows, int columns) {
    /** The size of a terminal that does not report one. */
    private static final TerminalSize USUAL = new TerminalSize(24, 80);

    private static final Pattern SIZE = Pattern.compile("([1-9]\\d*) ([1-9]\\d*)\\s*");

    /** The size now, by stty(1). */
    static TerminalSize read() throws IOException {
        Process stty = new ProcessBuilder("stty", "size")
                .redirectInput(new File("/dev/tty"))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        Matcher size = SIZE.matcher(new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
        return size.matches()
                ? new TerminalSize(Integer.parseInt(size.group(1)), Integer.parseInt(size.group(2)))
                : USUAL;
    }

    /** The lines that a screen has room for, with one row left for the cursor. The last line counts those left out. */
    List<String> fitted(List<String> lines) {
        int room = Math.max(2, rows - 1);
        List<String> shown = new ArrayList<>(lines);
        if (lines.size() > room) {
            shown.subList(room - 1, lines.size()).clear();
            shown.add(
                    "... and " + (lines.size() - room + 1) + " more lines; see 'jrun top | less' or 'jrun dashboard'");
        }
        return shown.stream()
                .map(line -> line.substring(0, Math.min(line.length(), columns)))
                .toList();
    }
}
