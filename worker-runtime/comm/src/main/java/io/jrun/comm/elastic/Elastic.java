package io.jrun.comm.elastic;

import io.jrun.comm.CommException;
import io.jrun.comm.Distributed;
import io.jrun.comm.Rounds;
import org.jspecify.annotations.Nullable;

/**
 * Runs a program that outlives the loss of some of its workers: the others keep their processes, form a new group with those
 * that come instead, go back to the last commit and go on. Their memory is the checkpoint.
 *
 * <pre>{@code
 * Elastic.run(state, round -> {
 *     try (var model = new DistributedDataParallel<>(gpt, round.group())) {
 *         while (state.step() < steps) {
 *             trainStep(model, state);
 *             round.commit();
 *         }
 *     }
 * });
 * }</pre>
 *
 * <p>Source: Horovod's elastic mode. How often a job may lose workers is jrun's {@code --max-restarts}; without jrun there is
 * one round, and its failure is thrown.
 */
public final class Elastic {
    private Elastic() {}

    /**
     * Joins the job in place of {@link Distributed#init()}, runs {@code body} in as many rounds as it takes, and returns when
     * it has returned. Before each round every rank gets the newest commit of any.
     *
     * <p>What {@code body} throws ends the process as ever, unless it comes of a {@link CommException} that says that a peer was
     * lost, that the round was aborted, or that others did not come in time: these make the next round.
     *
     * @param state all that the body needs to go on; on each rank as the program has made it, or loaded it from a checkpoint
     * @throws CommException as {@link Distributed#init()}, or if no further round is made
     */
    public static <E extends Exception> void run(ElasticState state, ElasticBody<E> body) throws E {
        Commits commits = new Commits(state);
        try (Rounds rounds = Distributed.rounds()) {
            boolean done = false;
            while (!done) {
                String why = round(rounds, commits, body);
                done = why == null;
                if (why != null) {
                    rounds.next(why);
                }
            }
        }
    }

    /** Why the round is left: a failure, or empty for a change of nodes; null if the program has ended. */
    private static <E extends Exception> @Nullable String round(Rounds rounds, Commits commits, ElasticBody<E> body)
            throws E {
        try {
            commits.agree(rounds.world().group());
            body.run(new ElasticRound(rounds, commits));
            return null;
        } catch (Exception failure) {
            String why = rounds.canGoOn() ? reasonToGoOn(failure) : null;
            if (why == null) {
                throw failure;
            }
            return why;
        }
    }

    /** Null if the failure is the program's own. */
    private static @Nullable String reasonToGoOn(Exception failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof RegroupException) {
                return "";
            }
            if (each instanceof CommException comm) {
                return switch (comm.code()) {
                    case PEER_LOST, ABORTED, COLLECTIVE_TIMEOUT -> comm.code() + ": " + comm.getMessage();
                    case USAGE, RENDEZVOUS_TIMEOUT, COLLECTIVE_MISMATCH, SYSTEM -> null;
                };
            }
        }
        return null;
    }
}
