package io.jrun.comm.elastic;

import io.jrun.comm.CommException;
import io.jrun.comm.Distributed;
import io.jrun.comm.Rounds;
import org.jspecify.annotations.Nullable;

/**
 * Runs a program that survives the loss of some of its workers. The surviving workers keep their processes, form a new
 * group with the replacements, restore the last commit and continue. The memory of the workers is the checkpoint.
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
 * <p>Source: Horovod's elastic mode. The option {@code --max-restarts} of jrun limits the number of rounds with lost
 * workers. Without jrun there is one round, and its failure is thrown.
 */
public final class Elastic {
    private Elastic() {}

    /**
     * Joins the job in place of {@link Distributed#init()}, runs {@code body} in as many rounds as needed, and returns
     * after the body has returned. Before each round every rank gets the newest commit of any rank.
     *
     * <p>An exception of {@code body} ends the process, unless one of its causes is a {@link CommException} that
     * reports a lost peer, an aborted round or a timeout of a collective. Such an exception begins the next round.
     *
     * @param state all state that the body needs to continue, on each rank as the program has made it or loaded it from
     *     a checkpoint
     * @throws CommException under the conditions of {@link Distributed#init()}, or if no further round is made
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

    /**
     * Returns the reason for leaving the round: a failure, or empty for a change of nodes; null if the program has
     * ended.
     */
    private static <E extends Exception> @Nullable String round(Rounds rounds, Commits commits, ElasticBody<E> body)
            throws E {
        try {
            commits.agree(rounds.world().group());
            body.run(new ElasticRound(rounds, commits));
            return null;
        } catch (Exception failure) {
            String why = rounds.canContinue() ? reasonToContinue(failure) : null;
            if (why == null) {
                throw failure;
            }
            return why;
        }
    }

    /** Returns null if the failure is the program's own. */
    private static @Nullable String reasonToContinue(Exception failure) {
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
