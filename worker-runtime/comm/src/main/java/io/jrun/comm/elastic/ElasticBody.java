package io.jrun.comm.elastic;

/**
 * What each rank does in a round, from where the state says to the end.
 *
 * @param <E> what it may throw besides
 */
@FunctionalInterface
public interface ElasticBody<E extends Exception> {
    /** Closes everything that it opens on the round's groups before it returns or throws, and passes on their exceptions. */
    void run(ElasticRound round) throws E;
}
