package io.jrun.comm.control;

import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.util.List;

/** What a rank is told, or asked, by whoever coordinates its world. Called on the connection's own thread: be quick. */
public interface ControlListener {
    /** A rank takes part in no further collective; {@code how} as in "returned from main". */
    void rankLeft(int rank, String how);

    /** The job is stopping. */
    void abort(String cause);

    /** A checkpoint is wanted at the next safe point. */
    void checkpointNow();

    /** The world is about to change: a rank that can go on in another round leaves this one at its next commit. */
    void regroup(String why);

    /**
     * Where this rank is, for a rank that misses it in {@code group}. Called on a thread of its own, since looking at the stacks
     * may take a moment.
     */
    RankRecord locate(String group);

    /** How long this rank has waited for others until now. */
    List<GroupRecord> waits();

    /** What this rank has to say in a sign of life. */
    Frame.Alive alive();

    /** The connection ended without this side closing it; nothing more will be heard. */
    void connectionLost(String why);
}
