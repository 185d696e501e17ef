package io.jrun.comm;

import org.jspecify.annotations.Nullable;

/**
 * The rounds of a job that this process takes part in, one after the other: when one fails, or the job's nodes change, it
 * leaves that one and enters the next, with its memory, its connection to its agent and its log files. From
 * {@link Distributed#rounds()}. Confined to one thread.
 */
public final class Rounds implements AutoCloseable {
    private final @Nullable Joining joining;
    private World world;

    /** The one round of a world that nobody coordinates. */
    Rounds(World world) {
        this.joining = null;
        this.world = world;
    }

    /** Enters the first round, or a later one if that fails before it has begun. */
    Rounds(Joining joining) {
        this.joining = joining;
        joining.becomeElastic();
        this.world = first(joining);
    }

    private static World first(Joining joining) {
        try {
            return joining.first();
        } catch (CommException e) {
            if (e.code() != ErrorCode.ABORTED) {
                throw e;
            }
            return joining.next(String.valueOf(e.getMessage()));
        }
    }

    /** The world of the round that this process is in. */
    public World world() {
        return world;
    }

    /** Whether there can be another round. */
    public boolean canGoOn() {
        return joining != null;
    }

    /** Whether this rank is asked to leave its round, because the job's nodes change. */
    public boolean isRegroupRequested() {
        return world.isRegroupRequested();
    }

    /**
     * Leaves the round, whose world must not be used any more, and waits for the next, in which this rank may have another
     * number.
     *
     * @param why the failure that makes it leave; empty if it leaves because it was asked to
     * @throws CommException RENDEZVOUS_TIMEOUT if there is none for a long time; ABORTED if the job ends
     * @throws IllegalStateException if there can be no other round
     */
    public void next(String why) {
        if (joining == null) {
            throw new IllegalStateException("nobody coordinates this world: there is no other round");
        }
        world.leaveRound(why);
        world = joining.next(why);
    }

    /** Closes the world, as {@link World#close()}. */
    @Override
    public void close() {
        world.close();
    }
}
