package io.jrun.launcher.console;

import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The queue of the launcher's own messages. A separate thread writes the messages, because the terminal may block. The
 * thread ends when the queue is empty. Thread-safe.
 */
final class LauncherMessages {
    /** The limit of waiting characters. A job writes less in an hour, but a terminal may block for days. */
    private static final int MOST_CHARS = 1 << 20;

    private record Line(OutputStream stream, String text) {}

    private final OutputStream err;
    private final BiConsumer<OutputStream, String> terminal;
    private final Queue<Line> waiting = new ArrayDeque<>();
    private int chars;
    private int dropped;
    private boolean writing;

    /**
     * @param err receives the message about dropped lines
     * @param terminal writes text to a stream and may block
     */
    LauncherMessages(OutputStream err, BiConsumer<OutputStream, String> terminal) {
        this.err = err;
        this.terminal = terminal;
    }

    /** Queues a line with its newline. Drops and counts the line if too many characters wait. */
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
            String text = "jrun: dropped " + dropped + " lines of jrun here, because the terminal was blocked\n";
            dropped = 0;
            return new Line(err, text);
        }
        writing = false;
        notifyAll();
        return null;
    }

    /** Waits until all lines are written. Returns false if this takes longer than {@code millis}. */
    synchronized boolean awaitWritten(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (long left = deadline - System.nanoTime(); writing && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return !writing;
    }
}
