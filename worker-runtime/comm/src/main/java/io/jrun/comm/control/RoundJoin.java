package io.jrun.comm.control;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.control.Frame.NextRound;
import io.jrun.comm.control.Frame.PeerTable;
import java.io.IOException;
import java.io.Serial;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The events for which a rank waits to enter a round: the table of its peers and, after another round, the next round.
 * One thread waits. The connection's reader completes the events.
 */
final class RoundJoin {
    private volatile CompletableFuture<PeerTable> peers = new CompletableFuture<>();
    private volatile CompletableFuture<NextRound> next = new CompletableFuture<>();

    /** The agent does not accept this process as one of its workers. */
    static final class RefusedException extends IOException {
        @Serial
        private static final long serialVersionUID = 1L;

        RefusedException(String reason) {
            super("the agent refused this process: " + reason
                    + ". A worker joins once, from the process that jrun has started.");
        }
    }

    /** @throws CommException RENDEZVOUS_TIMEOUT; ABORTED if the job stops; USAGE if the agent refuses this process */
    PeerTable awaitPeers(Duration timeout) throws InterruptedException {
        try {
            return peers.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new CommException(
                    ErrorCode.RENDEZVOUS_TIMEOUT,
                    "not all ranks have joined within " + timeout.toSeconds()
                            + " s. Every rank must call Distributed.init(); raise JRUN_TIMEOUT_SECONDS if ranks start"
                            + " slowly.",
                    e);
        } catch (ExecutionException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            ErrorCode code = why instanceof RefusedException ? ErrorCode.USAGE : ErrorCode.ABORTED;
            throw new CommException(code, "joining the job failed: " + why.getMessage(), why);
        }
    }

    /** @throws CommException RENDEZVOUS_TIMEOUT; ABORTED if the connection ends */
    NextRound awaitNext(Duration timeout) throws InterruptedException {
        try {
            NextRound round = next.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            next = new CompletableFuture<>();
            return round;
        } catch (TimeoutException e) {
            throw new CommException(
                    ErrorCode.RENDEZVOUS_TIMEOUT,
                    "this rank has left its round, and the next one has not begun within " + timeout.toSeconds() + " s",
                    e);
        } catch (ExecutionException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw new CommException(ErrorCode.ABORTED, "waiting for the next round failed: " + why.getMessage(), why);
        }
    }

    static CommException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new CommException(ErrorCode.ABORTED, "interrupted while joining the job", e);
    }

    /** Begins another round. The peers of the round are not known yet. */
    void open(NextRound round) {
        peers = new CompletableFuture<>();
        next.complete(round);
    }

    void complete(PeerTable table) {
        peers.complete(table);
    }

    /** Fails the join, because the round has ended before all ranks joined. */
    void failPeers(IOException why) {
        peers.completeExceptionally(why);
    }

    /** Fails all waits, because the connection has ended. */
    void fail(IOException why) {
        peers.completeExceptionally(why);
        next.completeExceptionally(why);
    }
}
