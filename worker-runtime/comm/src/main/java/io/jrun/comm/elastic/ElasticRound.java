package io.jrun.comm.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Rounds;
import io.jrun.comm.World;

/** A round as its program sees it. Confined to the thread that runs the program. */
public final class ElasticRound {
    private final Rounds rounds;
    private final Commits commits;

    ElasticRound(Rounds rounds, Commits commits) {
        this.rounds = rounds;
        this.commits = commits;
    }

    /** Of this round; rank and size may differ in the next. Closed for the program when it is over. */
    public World world() {
        return rounds.world();
    }

    /** The group of all ranks of this round. */
    public ProcessGroup group() {
        return world().group();
    }

    /** How often the program has committed, over all rounds. */
    public long commits() {
        return commits.count();
    }

    /**
     * Makes the state's present the point to which a failure goes back. Every rank calls it at the same points, after the
     * collectives that make its state. Local, so that it costs the copy and nothing else.
     *
     * @throws RegroupException if the job's nodes change; pass it on
     */
    public void commit() {
        commits.commit(world());
        if (rounds.isRegroupRequested()) {
            throw new RegroupException();
        }
    }
}
