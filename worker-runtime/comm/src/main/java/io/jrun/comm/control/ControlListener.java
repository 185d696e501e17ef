package io.jrun.comm.control;

import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.util.List;

/** What the coordinator of a world tells a rank, or asks it. The calls run on the connection's thread and must not wait. */
public interface ControlListener {
    /** A rank takes part in no further collective; {@code how} as in "returned from main". */
    void rankLeft(int rank, String how);

    /** The job is stopping. */
    void abort(String cause);

    /** The rank shall write a checkpoint at the next safe point. */
    void checkpointNow();

    /** The world will change. A rank that can continue in another round leaves this round at its next commit. */
    void regroup(String why);

    /**
     * Where this rank is, for a rank that misses it in {@code group}. Called on a thread of its own, since looking at the stacks
     * may take a moment.
     */
    RankRecord locate(String group);

    /** How long this rank has waited for others until now. */
    List<GroupRecord> waits();

    /** The next sign of life. */
    Frame.Alive alive();

    /** The connection has ended, and this side has not closed it. No further call follows. */
    void connectionLost(String why);
}
