package io.jrun.launcher.image;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Reports the progress of a long step of a command from time to time, on a thread of its own, until it is closed. */
final class ProgressLines implements AutoCloseable {
    /** As often as a pull of an image reports. */
    static final Duration EVERY = Duration.ofSeconds(5);

    private final Thread thread;

    private ProgressLines(Thread thread) {
        this.thread = thread;
    }

    /**
     * Begins to report.
     *
     * @param line makes a line; the line gets the seconds since the begin at its end
     */
    static ProgressLines start(Duration every, Supplier<String> line, Consumer<String> report) {
        long began = System.nanoTime();
        return new ProgressLines(Thread.ofPlatform()
                .daemon()
                .name("jrun-image-progress")
                .start(() -> {
                    try {
                        while (true) {
                            Thread.sleep(every);
                            long seconds =
                                    Duration.ofNanos(System.nanoTime() - began).toSeconds();
                            report.accept(line.get() + ", " + seconds + " s so far");
                        }
                    } catch (InterruptedException e) {
                        // The step has ended.
                    }
                }));
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
