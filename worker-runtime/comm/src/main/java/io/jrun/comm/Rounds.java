package io.jrun.comm;

/**
 * The rounds of a job that this process takes part in, one after the other: when one fails, or the job's nodes change, it
 * leaves that one and enters the next, with its memory, its connection to its agent and its log files. From
 * {@link Distributed#rounds()}. Confined to one thread.
 */
public interface Rounds extends AutoCloseable {
    /** The world of the round that this process is in. */
    World world();

    /** Whether there can be another round. */
    boolean canGoOn();

    /** Whether this rank is asked to leave its round, because the job's nodes change. */
    boolean isRegroupRequested();

    /**
     * Leaves the round, whose world must not be used any more, and waits for the next, in which this rank may have another
     * number.
     *
     * @param why the failure that makes it leave; empty if it leaves because it was asked to
     * @throws CommException RENDEZVOUS_TIMEOUT if there is none for a long time; ABORTED if the job ends
     * @throws IllegalStateException if there can be no other round
     */
    void next(String why);

    /** Closes the world, as {@link World#close()}. */
    @Override
    void close();
}
