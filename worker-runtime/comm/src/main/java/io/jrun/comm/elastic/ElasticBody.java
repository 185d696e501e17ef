package io.jrun.comm.elastic;

/**
 * The program of each rank in a round, from the commit in the state to the end.
 *
 * @param <E> checked exception of the body
 */
@FunctionalInterface
public interface ElasticBody<E extends Exception> {
    /**
     * Runs the round. Closes everything that it opens on the round's groups before it returns or throws, and passes on
     * their exceptions.
     */
    void run(ElasticRound round) throws E;
}
