package io.jrun.comm.flight;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.WaitTimes;
import io.jrun.comm.record.GroupRecord;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A group as the recorder knows it, and how far its collectives have come, which is known even when their entries have been
 * given to operations of other groups. Written by the thread that runs the group's collectives, read by any.
 */
public final class RecordedGroup {
    private final int index;
    private final String name;
    private final List<Integer> worldRanks;
    private final WaitTimes waits = new WaitTimes();
    private final AtomicLong startedCollectives = new AtomicLong();
    private final AtomicLong completedCollectives = new AtomicLong();

    RecordedGroup(int index, String name, List<Integer> worldRanks) {
        this.index = index;
        this.name = name;
        this.worldRanks = List.copyOf(worldRanks);
    }

    /** Name of the group. */
    public String name() {
        return name;
    }

    /** World ranks of the members, by group rank. */
    public List<Integer> worldRanks() {
        return worldRanks;
    }

    /** How many collectives this rank has started: the sequence of the last one, plus one. */
    public long startedCollectives() {
        return startedCollectives.getAcquire();
    }

    /** How many of them it has completed. */
    public long completedCollectives() {
        return completedCollectives.getAcquire();
    }

    /** How long its collectives have waited for which ranks. */
    public WaitTimes waits() {
        return waits;
    }

    /** The group with its members and with the waits for so many ranks at most. */
    GroupRecord record(int maxLags) {
        return record(worldRanks, maxLags);
    }

    /** What a report of waits needs. */
    GroupRecord waitRecord() {
        return record(List.of(), GroupRecord.MAX_LAGS);
    }

    private GroupRecord record(List<Integer> ranks, int maxLags) {
        return new GroupRecord(
                name,
                ranks,
                startedCollectives(),
                completedCollectives(),
                waits.total().toNanos(),
                waits.lags().stream().limit(maxLags).toList());
    }

    int index() {
        return index;
    }

    void started(Call call) {
        if (!call.kind().isMessage()) {
            startedCollectives.setRelease(call.sequence() + 1); // Cheaper than a volatile write.
        }
    }

    void completed(Call call) {
        if (!call.kind().isMessage()) {
            completedCollectives.setRelease(call.sequence() + 1);
        }
    }
}
