package io.jrun.comm.join;

import io.jrun.comm.control.ControlListener;
import io.jrun.comm.control.Frame;
import io.jrun.comm.flight.OpenDumps;
import io.jrun.comm.flight.ThreadDump;
import io.jrun.comm.group.GroupRegistry;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.util.List;

/** Forwards events to the groups, and ends the process when the agent has vanished. */
record WorkerListener(int rank, GroupRegistry registry) implements ControlListener {
    @Override
    public void rankLeft(int otherRank, String how) {
        registry.rankLeft(otherRank, how);
    }

    @Override
    public void abort(String cause) {
        registry.abort(cause);
    }

    @Override
    public void checkpointNow() {
        registry.checkpointNow();
    }

    @Override
    public void regroup(String why) {
        registry.regroup(why);
    }

    @Override
    public RankRecord locate(String group) {
        RankRecord record =
                registry.hasJoined() ? registry.recordAbout(group) : RankRecord.unknown(rank, "is joining its job");
        return record.withStack(ThreadDump.ofProcess(registry.owner()));
    }

    @Override
    public List<GroupRecord> waits() {
        return registry.waits();
    }

    @Override
    public Frame.Alive alive() {
        return registry.alive();
    }

    @Override
    public void connectionLost(String why) {
        registry.connectionLost(why);
        System.err.println(
                "jrun: rank " + rank + " has lost its node's agent (" + why + "); a worker ends with its job");
        System.err.flush();
        OpenDumps.await();
        Runtime.getRuntime().halt(1);
    }
}
