package io.jrun.comm;

/**
 * The rounds of a job in which this process takes part, one after the other. When a round fails, or when the nodes of
 * the job change, the process leaves the round and enters the next round. The process keeps its memory, its connection
 * to the agent and its log files. An instance comes from {@link Distributed#rounds()}. Confined to one thread.
 */
public interface Rounds extends AutoCloseable {
    /** The world of the current round. */
    World world();

    /** Whether another round is possible. */
    boolean canContinue();

    /** Whether the job asks this rank to leave its round, because the nodes of the job change. */
    boolean isRegroupRequested();

    /**
     * Leaves the round and waits for the next round. The program must not use the old world any more. This rank may
     * have another number in the next round.
     *
     * @param why the failure that ends the round for this rank; empty if the job asked the rank to leave
     * @throws CommException RENDEZVOUS_TIMEOUT if no round begins before the deadline; ABORTED if the job ends
     * @throws IllegalStateException if no other round is possible
     */
    void next(String why);

    /** Closes the world as {@link World#close()} does. */
    @Override
    void close();
}
