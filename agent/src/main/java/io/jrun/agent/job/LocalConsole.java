package io.jrun.agent.job;

import io.jrun.agent.log.ConsoleFeed;
import io.jrun.agent.proto.LogChunk;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Prints the output of a job's workers in this process, which also grants the credit. The launcher receives only the
 * ends of the streams. One thread prints; the other methods may be called from any thread.
 */
final class LocalConsole {
    /** Longest wait for missing output, as in the launcher. */
    private static final Duration IDLE_LIMIT = Duration.ofSeconds(5);

    private static final long TURN_MILLIS = 100;

    private final Consumer<LogChunk> console;
    private final ConsoleFeed feed;
    private final ResponseStream<LogChunk> toLauncher;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicLong shown = new AtomicLong();
    private volatile boolean showing;
    private volatile boolean awaited;
    private volatile boolean givenUp;

    LocalConsole(Consumer<LogChunk> console, ConsoleFeed feed, ResponseStream<LogChunk> toLauncher) {
        this.console = console;
        this.feed = feed;
        this.toLauncher = toLauncher;
    }

    /** Starts to print the output of {@code feed}. */
    void attach() {
        feed.attach(this::print, this::end);
    }

    private void print(LogChunk chunk) {
        showing = true;
        console.accept(chunk);
        showing = false;
        shown.incrementAndGet();
        if (chunk.getLast()) {
            toLauncher.send(chunk);
        }
        feed.grant(chunk.getData().size());
    }

    private void end() {
        ended.complete(null);
        toLauncher.complete();
    }

    /**
     * Waits after the last round until all output is printed. Returns early when no output has arrived for 5 s and
     * nothing is being printed.
     */
    void awaitShown() {
        awaited = true;
        feed.closeWhenSent();
        long turns = IDLE_LIMIT.toMillis() / TURN_MILLIS;
        long seen = shown.get();
        for (long idleTurns = 0; idleTurns < turns && !givenUp && !hasEnded(); seen = shown.get()) {
            idleTurns = shown.get() == seen && !showing ? idleTurns + 1 : 0;
        }
    }

    /** Waits one period. */
    private boolean hasEnded() {
        try {
            ended.get(TURN_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends {@link #awaitShown}. Has no effect while the job runs. */
    void giveUp() {
        givenUp = awaited;
    }
}
