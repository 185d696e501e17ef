package io.jrun.agent.log;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;

/**
 * Copies the pipe of a worker into its log file on a thread of its own, so a worker waits only for the disk. If the
 * disk fails (full, removed), the pump reports this once and continues to read, because the worker must not stop for
 * its log.
 */
public final class LogPump {
    private static final int BUFFER_BYTES = 1 << 16;

    private final InputStream pipe;
    private final LogFile file;
    private final boolean dropIncubatorLine;
    private final Consumer<String> notice;
    private final Thread thread;

    /**
     * Makes a pump. {@link #start} starts it.
     *
     * @param notice receives one message if the file cannot be written
     */
    public LogPump(String name, InputStream pipe, LogFile file, boolean dropIncubatorLine, Consumer<String> notice) {
        this.pipe = pipe;
        this.file = file;
        this.dropIncubatorLine = dropIncubatorLine;
        this.notice = notice;
        this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    /** Starts to read. */
    public void start() {
        thread.start();
    }

    /** Waits for the end of the pipe until the deadline, then ends the file. */
    public void finish(long deadlineNanos) {
        try {
            long millis = Math.max(1, (deadlineNanos - System.nanoTime()) / 1_000_000);
            thread.join(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            file.close();
        }
    }

    private void run() {
        IncubatorLineFilter filter = new IncubatorLineFilter(file::write);
        byte[] buffer = new byte[BUFFER_BYTES];
        boolean writable = true;
        int count;
        while ((count = read(buffer)) >= 0) {
            if (!writable || file.isEnded()) {
                continue;
            }
            try {
                if (dropIncubatorLine) {
                    filter.write(buffer, count);
                } else {
                    file.write(buffer, 0, count);
                }
            } catch (IOException e) {
                writable = false;
                notice.accept("output is lost from here on: " + file.path() + " cannot be written (" + e.getMessage()
                        + "); the worker continues");
            }
        }
        if (writable) {
            finishFilter(filter);
        }
    }

    private int read(byte[] buffer) {
        try {
            return pipe.read(buffer, 0, buffer.length);
        } catch (IOException e) {
            return -1; // another thread closed the pipe after the drain deadline
        }
    }

    private void finishFilter(IncubatorLineFilter filter) {
        try {
            filter.end();
        } catch (IOException e) {
            notice.accept("the last line of " + file.path() + " is lost: " + e.getMessage());
        }
    }
}
