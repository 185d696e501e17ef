package io.jrun.comm.flight;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.WaitTimes;
import io.jrun.comm.record.GroupRecord;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A group and the numbers of its last collectives. The numbers stay when the recorder has reused the entries of the
 * collectives. Only the thread that runs the group's collectives writes. Any thread may read.
 */
public final class RecordedGroup {
    private final int index;
    private final String name;
    private final List<Integer> worldRanks;
    private final int timelineName;
    private final WaitTimes waits = new WaitTimes();
    private final AtomicLong startedCollectives = new AtomicLong();
    private final AtomicLong completedCollectives = new AtomicLong();

    RecordedGroup(int index, String name, List<Integer> worldRanks, int timelineName) {
        this.index = index;
        this.name = name;
        this.worldRanks = List.copyOf(worldRanks);
        this.timelineName = timelineName;
    }

    /** Name of the group. */
    public String name() {
        return name;
    }

    /** World ranks of the members, by group rank. */
    public List<Integer> worldRanks() {
        return worldRanks;
    }

    /** Number of collectives that this rank has started: the sequence of the last one, plus one. */
    public long startedCollectives() {
        return startedCollectives.getAcquire();
    }

    /** Number of collectives that this rank has completed. */
    public long completedCollectives() {
        return completedCollectives.getAcquire();
    }

    /** Statistics of this rank's waits for other ranks in the group's collectives. */
    public WaitTimes waits() {
        return waits;
    }

    /** Returns the record of the group with its members, and with at most {@code maxLags} lags. */
    GroupRecord record(int maxLags) {
        return record(worldRanks, maxLags);
    }

    /** Returns the record of the group without members, for a report of waits. */
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

    /** The number of the group's name in the timeline. */
    int timelineName() {
        return timelineName;
    }

    void started(Call call) {
        if (!call.kind().isMessage()) {
            startedCollectives.setRelease(call.sequence() + 1); // A release write costs less than a volatile write.
        }
    }

    void completed(Call call) {
        if (!call.kind().isMessage()) {
            completedCollectives.setRelease(call.sequence() + 1);
        }
    }
}
