package io.jrun.examples.gpt;

import java.io.Console;
import java.io.PrintStream;
import java.util.Locale;
import java.util.Optional;

/** What rank 0 shows while it trains: one line that is rewritten on a terminal, a line per report elsewhere. */
final class Progress {
    private static final int BAR_CELLS = 24;

    private final PrintStream out;
    private final boolean isTerminal;
    private final long steps;

    private Progress(PrintStream out, boolean isTerminal, long steps) {
        this.out = out;
        this.isTerminal = isTerminal;
        this.steps = steps;
    }

    /** Under jrun, whose workers write into pipes, JRUN_CONSOLE says what the output is shown on. */
    static Progress of(PrintStream out, long steps) {
        boolean isTerminal = "terminal".equals(System.getenv("JRUN_CONSOLE"))
                || Optional.ofNullable(System.console())
                        .map(Console::isTerminal)
                        .orElse(false);
        return new Progress(out, isTerminal, steps);
    }

    static Progress of(PrintStream out, boolean isTerminal, long steps) {
        return new Progress(out, isTerminal, steps);
    }

    /** @param commShare of the time, that steps stood still for communication */
    void report(long step, double loss, double tokensPerSecond, double commShare) {
        String text = String.format(
                Locale.ROOT,
                "step %d loss %.4f tokens/s %.0f comm %.1f%%",
                step,
                loss,
                tokensPerSecond,
                100 * commShare);
        if (!isTerminal) {
            out.println(text);
            return;
        }
        int done = steps == 0 ? BAR_CELLS : (int) (BAR_CELLS * step / steps);
        out.print("[" + "#".repeat(done) + " ".repeat(BAR_CELLS - done) + "] " + text + "\u001b[K\r");
        if (step == steps) {
            out.println();
        }
        out.flush();
    }

    /** A line of its own. */
    void say(String line) {
        out.println(isTerminal ? line + "\u001b[K" : line);
    }
}
