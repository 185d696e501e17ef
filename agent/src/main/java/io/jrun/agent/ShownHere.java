package io.jrun.agent;

import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The log stream of an agent whose own process shows the output: it gives the credit, and the launcher hears only which
 * streams have ended. The launcher may be done before all is shown, see {@link #awaitShown}. As an observer, called by one
 * thread at a time.
 */
final class ShownHere implements StreamObserver<LogChunk> {
    private static final long TURN_MILLIS = 100;

    private final Consumer<LogChunk> console;
    private final StreamObserver<LogChunk> toLauncher;
    private final Relay<LogCredit> credits = new Relay<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private volatile boolean opened;
    private volatile boolean showing;
    private final AtomicLong shown = new AtomicLong();
    private volatile boolean givenUp;

    /** @param console shows a chunk before it returns */
    ShownHere(Consumer<LogChunk> console, StreamObserver<LogChunk> toLauncher) {
        this.console = console;
        this.toLauncher = toLauncher;
    }

    /** Opens the log stream of {@code agent}; takes the launcher's first credit to it, and not the launcher's end. */
    StreamObserver<LogCredit> open(AgentGrpc.AgentStub agent) {
        credits.to(agent.logs(this));
        opened = true;
        return new StreamObserver<>() {
            @Override
            public void onNext(LogCredit credit) {
                credits.onNext(credit);
            }

            @Override
            public void onError(Throwable lost) {
                // what has been written is shown all the same
            }

            @Override
            public void onCompleted() {
                // as above
            }
        };
    }

    /**
     * Waits until all that was written is shown, after the last round. Returns early when nothing has come for {@code idle} and
     * nothing is being shown.
     */
    void awaitShown(Duration idle) throws InterruptedException {
        if (!opened) {
            return;
        }
        credits.onNext(LogCredit.newBuilder().setLastRound(true).build());
        long seen = shown.get();
        long timeoutOrder = idle.toMillis() / TURN_MILLIS;
        for (long silentTurns = 0; silentTurns < timeoutOrder && !givenUp && !hasEnded(); seen = shown.get()) {
            silentTurns = shown.get() == seen && !showing ? silentTurns + 1 : 0;
        }
    }

    /** Waits a turn. */
    private boolean hasEnded() throws InterruptedException {
        try {
            ended.get(TURN_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends {@link #awaitShown}. From any thread. */
    void giveUp() {
        givenUp = true;
    }

    @Override
    public void onNext(LogChunk chunk) {
        showing = true;
        console.accept(chunk);
        showing = false;
        shown.incrementAndGet();
        if (chunk.getLast()) {
            toLauncher.onNext(chunk);
        }
        int bytes = chunk.getData().size();
        if (bytes > 0) {
            credits.onNext(LogCredit.newBuilder().setBytes(bytes).build());
        }
    }

    @Override
    public void onError(Throwable lost) {
        ended.complete(null);
        toLauncher.onError(lost);
    }

    @Override
    public void onCompleted() {
        ended.complete(null);
        toLauncher.onCompleted();
    }
}
