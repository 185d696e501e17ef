package io.jrun.comm.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;

/**
 * The state that a program needs to continue: for training the parameters, the optimizer's state and the position in
 * the data. Equal on all ranks. {@link Elastic} calls the methods on the thread that runs the program.
 */
public interface ElasticState {
    /** Keeps a copy of the current state in memory, and drops the earlier copy. */
    void save();

    /** Makes the kept copy the current state. */
    void restore();

    /**
     * Collective. Gives every rank the current state of {@code root}. A replacement rank has no state, and may not even
     * know shapes.
     *
     * @throws io.jrun.comm.CommException if the broadcast fails; this rank's current state is then undefined, its copy
     *     is intact
     */
    void broadcast(ProcessGroup group, int root);

    /**
     * Called after a commit of this rank. A state that must survive the last worker can write itself to disk here, on
     * one rank. Not collective.
     */
    default void committed(World world) {}
}
