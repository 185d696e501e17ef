package io.jrun.bench.collective;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Prints on stderr every few seconds how many calls are made. A thread of its own prints, so that the calling thread
 * allocates nothing.
 */
final class CallProgress implements AutoCloseable {
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

    private final Duration pause;
    private final AtomicInteger made = new AtomicInteger();
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile String kind = "";
    private volatile long planned;

    /**
     * @param isPrinted whether this rank prints; the other ranks only count
     * @param limit the longest time of all calls. The pause between two lines is a quarter of the limit, at most 5 s
     */
    CallProgress(boolean isPrinted, Duration limit) {
        Duration part = limit.dividedBy(4);
        pause = part.compareTo(LONGEST_PAUSE) < 0 ? part : LONGEST_PAUSE;
        if (isPrinted) {
            Thread.ofPlatform().daemon().name("bench-progress").start(this::print);
        }
    }

    /** Begins to count calls of another kind. */
    void begin(String kind, long planned) {
        this.kind = kind;
        this.planned = planned;
        made.set(0);
    }

    /** Counts one call. */
    void add() {
        made.incrementAndGet();
    }

    private void print() {
        try {
            while (!closed.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
                System.err.println(
                        planned == 0
                                ? "jrun bench memory: allocating"
                                : "jrun bench memory: " + made.get() + " of " + planned + " " + kind + " calls");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
