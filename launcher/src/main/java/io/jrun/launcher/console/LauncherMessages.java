package io.jrun.launcher.console;

import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What jrun itself says, on its way to a terminal that may stand still: a thread of its own writes it, which lives
 * while there is something to write. Thread-safe.
 */
final class LauncherMessages {
    /** More than any job says in an hour; a terminal may stand still for days. */
    private static final int MOST_CHARS = 1 << 20;

    private record Line(OutputStream stream, String text) {}

    private final OutputStream err;
    private final BiConsumer<OutputStream, String> terminal;
    private final Queue<Line> waiting = new ArrayDeque<>();
    private int chars;
    private int dropped;
    private boolean writing;

    /**
     * @param err where to tell of lines that were dropped
     * @param terminal writes text to a stream, and may block
     */
    LauncherMessages(OutputStream err, BiConsumer<OutputStream, String> terminal) {
        this.err = err;
        this.terminal = terminal;
    }

    /** Takes text, with its newline, which is dropped, and counted, if too many wait. */
    synchronized void add(OutputStream stream, String line) {
        if (dropped > 0 || chars + line.length() > MOST_CHARS) {
            dropped++;
            return;
        }
        chars += line.length();
        waiting.add(new Line(stream, line));
        if (!writing) {
            writing = true;
            Thread.ofPlatform().daemon().name("jrun-console").start(this::write);
        }
    }

    private void write() {
        for (Line line = next(); line != null; line = next()) {
            terminal.accept(line.stream(), line.text());
        }
    }

    private synchronized @Nullable Line next() {
        Line line = waiting.poll();
        if (line != null) {
            chars -= line.text().length();
            return line;
        }
        if (dropped > 0) {
            String text = "jrun: " + dropped + " lines of jrun's own were dropped here: the terminal stood still\n";
            dropped = 0;
            return new Line(err, text);
        }
        writing = false;
        notifyAll();
        return null;
    }

    /** Waits until all is written; false if that takes longer than {@code millis}. */
    synchronized boolean awaitWritten(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (long left = deadline - System.nanoTime(); writing && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return !writing;
    }
}
