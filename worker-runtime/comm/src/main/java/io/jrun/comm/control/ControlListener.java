package io.jrun.comm.control;

import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.util.List;

/**
 * Handles the events and requests of a world's coordinator. The calls run on the connection's thread and must not wait.
 */
public interface ControlListener {
    /**
     * Handles the departure of a rank, which takes part in no further collective. {@code how} is a predicate such as
     * "returned from main".
     */
    void rankLeft(int rank, String how);

    /** Handles the stop of the job. */
    void abort(String cause);

    /** Handles the request for a checkpoint at the next safe point. */
    void checkpointNow();

    /**
     * Handles a coming change of the world. A rank that can continue in another round leaves this round at its next
     * commit.
     */
    void regroup(String why);

    /**
     * Returns the record of this rank, for a rank that waits for it in {@code group}. Called on a separate thread,
     * because reading the stacks may take a moment.
     */
    RankRecord locate(String group);

    /** Returns the total waits of this rank for other ranks. */
    List<GroupRecord> waits();

    /** Returns the next heartbeat. */
    Frame.Alive alive();

    /** Handles the end of the connection, unless this side has closed it. No further call follows. */
    void connectionLost(String why);
}
