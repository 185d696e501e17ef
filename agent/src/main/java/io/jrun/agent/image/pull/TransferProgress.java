package io.jrun.agent.image.pull;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Reports the progress of a step every 5 s: bytes, rate and remaining time. Ends the step when no byte has moved for 60
 * s, because a network may lose a connection without an error. The threads of the step count bytes. A separate thread
 * reports.
 */
final class TransferProgress implements AutoCloseable {
    private static final long EVERY_MILLIS = 5_000;
    private static final long SILENT_MILLIS = 60_000;
    private static final double GIGA = 1e9;
    private static final double MEGA = 1e6;

    private final String step;
    private final long total;
    private final Consumer<String> lines;
    private final Runnable onTimeout;
    private final AtomicLong bytes = new AtomicLong();
    private final long began = System.nanoTime();
    private final Thread thread;

    /**
     * Begins to report.
     *
     * @param step verb and image
     * @param total bytes in all
     * @param onTimeout is called once, when no byte has moved for 60 s
     */
    TransferProgress(String step, long total, Consumer<String> lines, Runnable onTimeout) {
        this.step = step;
        this.total = total;
        this.lines = lines;
        this.onTimeout = onTimeout;
        this.thread = Thread.ofPlatform().daemon().name("jrun-image-progress").start(this::run);
    }

    /** Adds moved bytes. */
    void add(long count) {
        bytes.addAndGet(count);
    }

    private void run() {
        long last = -1;
        long silent = 0;
        try {
            while (true) {
                Thread.sleep(EVERY_MILLIS);
                long now = bytes.get();
                silent = now == last ? silent + EVERY_MILLIS : 0;
                last = now;
                if (silent >= SILENT_MILLIS) {
                    onTimeout.run();
                    return;
                }
                lines.accept(line(now, (System.nanoTime() - began) / GIGA));
            }
        } catch (InterruptedException e) {
            // The step has ended.
        }
    }

    private String line(long now, double seconds) {
        double rate = now / seconds;
        String left = now == 0 ? "" : String.format(Locale.ROOT, ", %.0f s left", Math.max(0, total - now) / rate);
        return step + ": " + size(now) + " of " + size(total) + ", " + size((long) rate) + "/s" + left;
    }

    /** The size as text with a unit. */
    static String size(long bytes) {
        return bytes >= GIGA
                ? String.format(Locale.ROOT, "%.1f GB", bytes / GIGA)
                : String.format(Locale.ROOT, "%.1f MB", bytes / MEGA);
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
