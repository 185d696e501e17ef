package io.jrun.comm.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Rounds;
import io.jrun.comm.World;

/** A round, for the program. Confined to the thread that runs the program. */
public final class ElasticRound {
    private final Rounds rounds;
    private final Commits commits;

    ElasticRound(Rounds rounds, Commits commits) {
        this.rounds = rounds;
        this.commits = commits;
    }

    /** The world of this round. Rank and size may differ in the next round. The program must not close the world. */
    public World world() {
        return rounds.world();
    }

    /** The group of all ranks of this round. */
    public ProcessGroup group() {
        return world().group();
    }

    /**
     * Makes the current state the point to which a failure goes back. Every rank calls the method at the same points,
     * after the collectives that compute its state. The method is local and costs only the copy.
     *
     * @throws RegroupException if the nodes of the job change; the body must not catch it
     */
    public void commit() {
        commits.commit(world());
        if (rounds.isRegroupRequested()) {
            throw new RegroupException();
        }
    }
}
