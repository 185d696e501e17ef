package io.jrun.comm.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;

/**
 * What a program must have of its past to go on: for training the parameters, the optimizer's state and the place in the
 * data. All ranks have the same. Used by {@link Elastic} on the thread that runs the program.
 */
public interface ElasticState {
    /** Keeps a copy of the present in memory, instead of the one kept before. */
    void save();

    /** Makes the kept copy the present. */
    void restore();

    /**
     * Gives every rank the present of {@code root}; collective. A rank that came later has nothing yet: even shapes may be
     * unknown to it.
     *
     * @throws io.jrun.comm.CommException if it fails; then this rank's present is undefined, its copy is not
     */
    void broadcast(ProcessGroup group, int root);

    /**
     * This rank has committed its present. For a state that is to outlive even the last worker: the place for one rank to write
     * it down. Not collective.
     */
    default void committed(World world) {}
}
