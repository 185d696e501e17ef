package io.jrun.launcher.files;

import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Prints the progress of transfers that take long. Thread-safe. */
final class StagingProgress {
    private static final long REPORT_INTERVAL_NANOS = 5_000_000_000L;
    private static final double MEGABYTE = 1e6;

    private final Consumer<String> notices;
    private final LongSupplier nanoTime;
    private int nodes;
    private int nodesDone;
    private long total;
    private long sent;
    private long beganAt;
    private long saidAt;
    private boolean printed;

    StagingProgress(Consumer<String> notices, LongSupplier nanoTime) {
        this.notices = notices;
        this.nanoTime = nanoTime;
    }

    /** A node has requested a file of {@code size} bytes. {@code isFirst}: this is the first file of the node. */
    synchronized void begin(long size, boolean isFirst) {
        if (nodes == 0) {
            beganAt = nanoTime.getAsLong();
            saidAt = beganAt;
        }
        nodes += isFirst ? 1 : 0;
        total += size;
    }

    synchronized void sent(int bytes) {
        sent += bytes;
        long now = nanoTime.getAsLong();
        if (now - saidAt >= REPORT_INTERVAL_NANOS) {
            saidAt = now;
            printed = true;
            notices.accept("sending files to " + nodes() + ": " + megabytes(sent) + " of " + megabytes(total)
                    + " MB requested so far");
        }
    }

    /** A node has all its files. */
    synchronized void done() {
        nodesDone++;
        if (printed && nodesDone == nodes) {
            printed = false;
            notices.accept("sent " + megabytes(sent) + " MB of files to " + nodes() + " in "
                    + (nanoTime.getAsLong() - beganAt) / 1_000_000_000L + " s");
        }
    }

    private String nodes() {
        return nodes == 1 ? "1 node" : nodes + " nodes";
    }

    private static String megabytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f", bytes / MEGABYTE);
    }
}
