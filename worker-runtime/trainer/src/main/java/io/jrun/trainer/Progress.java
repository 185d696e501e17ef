package io.jrun.trainer;

import io.jrun.comm.file.ControlCharacters;
import io.jrun.trainer.data.TrainingData;
import java.io.Console;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * Shows the progress of the training. On a terminal one line is rewritten (bar, step, loss, speed, remaining time).
 * Other outputs get one line for each report.
 */
final class Progress {
    /** The progress of ranks that print nothing. */
    static final Progress SILENT = new Progress(new PrintStream(OutputStream.nullOutputStream()), false);

    private static final int BAR_CELLS = 12;

    /** A job without a line for a longer time looks like a job that hangs. */
    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(20);

    private static final String CLEAR_REST_OF_LINE = "\u001b[K";

    private final PrintStream out;
    private final boolean isTerminal;
    private long firstStep;
    private long steps;
    private long amountPerStep;
    private String speedUnit = "";
    private long beginNanos;
    private long reportedStep;
    private long reportedNanos;
    private long shownNanos;

    Progress(PrintStream out, boolean isTerminal) {
        this.out = out;
        this.isTerminal = isTerminal;
    }

    /** A worker's stdout is a pipe to jrun. JRUN_CONSOLE says whether jrun shows the output on a terminal. */
    static Progress onStdout() {
        boolean isTerminal = "terminal".equals(System.getenv("JRUN_CONSOLE"))
                || Optional.ofNullable(System.console())
                        .map(Console::isTerminal)
                        .orElse(false);
        return new Progress(System.out, isTerminal);
    }

    /**
     * Begins the progress after {@code first} steps of {@code last}.
     *
     * @param amount tokens or samples of a step
     * @param unit of the data
     */
    void begin(long first, long last, long amount, String unit) {
        firstStep = first;
        steps = last;
        amountPerStep = amount;
        speedUnit = unit.equals(TrainingData.SAMPLE) ? "samples/s" : "tokens/s";
        beginNanos = System.nanoTime();
        reportedStep = first;
        reportedNanos = beginNanos;
        shownNanos = beginNanos;
    }

    /** Shows that micro-batch {@code number} of {@code count} begins, if nothing was shown for 20 s. */
    void reportBatch(long step, int number, int count) {
        if (System.nanoTime() - shownNanos > LONGEST_SILENCE.toNanos()) {
            show("step " + step + "/" + steps + ": micro-batch " + number + " of " + count + " begins", step - 1);
        }
    }

    /** Shows the loss after {@code step} steps, the speed since the last report, and the remaining time. */
    void report(long step, double loss) {
        long now = System.nanoTime();
        double perSecond = (step - reportedStep) * amountPerStep * 1e9 / (now - reportedNanos);
        long secondsLeft = Math.round((now - beginNanos) / 1e9 / (step - firstStep) * (steps - step));
        reportedStep = step;
        reportedNanos = now;
        String text = String.format(
                Locale.ROOT,
                "step %d/%d loss %.4f %.0f %s ETA %d:%02d",
                step,
                steps,
                loss,
                perSecond,
                speedUnit,
                secondsLeft / 60,
                secondsLeft % 60);
        show(text, step);
    }

    private void show(String text, long done) {
        shownNanos = System.nanoTime();
        if (isTerminal) {
            int cells = (int) (BAR_CELLS * done / steps);
            out.print(
                    "[" + "#".repeat(cells) + " ".repeat(BAR_CELLS - cells) + "] " + text + CLEAR_REST_OF_LINE + "\r");
            out.flush();
        } else {
            out.println(text);
        }
    }

    /** Ends the progress: keeps the progress line and adds a summary. */
    void end(Duration communication) {
        if (reportedStep == firstStep) {
            return; // The run had no step to train.
        }
        if (isTerminal) {
            out.println();
        }
        double seconds = (System.nanoTime() - beginNanos) / 1e9;
        print(String.format(
                Locale.ROOT,
                "trained %d steps in %.1f s: %.0f %s, %.1f %% of the time in communication",
                reportedStep - firstStep,
                seconds,
                (reportedStep - firstStep) * amountPerStep / seconds,
                speedUnit,
                communication.toNanos() / 1e7 / seconds));
    }

    /** Prints a line of its own. */
    void print(String line) {
        String text = ControlCharacters.replaced(line); // a line may have text of a file
        out.println(isTerminal ? text + CLEAR_REST_OF_LINE : text);
    }
}
