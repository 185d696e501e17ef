package io.jrun.comm.flight;

import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRecord;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Makes records of one rank from its {@link FlightRecorder}, one method for each use. Thread-safe. */
public final class RankRecords {
    /** The limit of groups in a report, for a program that splits its world very often. */
    private static final int MAX_GROUPS = 64;

    /** The limit of operations in an answer, for a program that starts very many asynchronous operations. */
    private static final int MAX_RUNNING = 16;

    private final FlightRecorder recorder;
    private final WorldContext world;

    /** Makes records of this rank of {@code world}. */
    public RankRecords(FlightRecorder recorder, WorldContext world) {
        this.recorder = recorder;
        this.world = world;
    }

    /** Returns everything that the recorder keeps, for a dump. */
    public RankRecord all(String reason) {
        List<GroupRecord> groups = recorder.groups().stream()
                .map(group -> group.record(Integer.MAX_VALUE))
                .toList();
        return record(reason, groups, recorder.snapshot(), Optional.empty());
    }

    /**
     * Returns the record for a rank that waits for this rank in a collective: this rank's progress in that group, and
     * the running operations.
     */
    public RankRecord about(String group, Optional<OperationRecord> blockedIn) {
        List<OperationRecord> all = recorder.snapshot();
        Set<OperationRecord> operations = new LinkedHashSet<>();
        all.reversed().stream()
                .filter(operation -> operation.group().equals(group) && operation.state() != OperationState.QUEUED)
                .findFirst()
                .ifPresent(operations::add);
        all.stream()
                .filter(operation -> operation.state() == OperationState.STARTED)
                .limit(MAX_RUNNING)
                .forEach(operations::add);
        List<GroupRecord> groups = recorder.groups().stream()
                .filter(known -> known.name().equals(group)
                        || operations.stream()
                                .anyMatch(operation -> operation.group().equals(known.name())))
                .map(known -> known.record(GroupRecord.MAX_LAGS))
                .toList();
        return record("", groups, List.copyOf(operations), blockedIn);
    }

    private RankRecord record(
            String reason,
            List<GroupRecord> groups,
            List<OperationRecord> operations,
            Optional<OperationRecord> blockedIn) {
        Peer self = world.peers().get(world.rank());
        return new RankRecord(
                world.rank(),
                world.peers().size(),
                self.host(),
                self.pid(),
                world.round(),
                System.currentTimeMillis(),
                reason,
                groups,
                operations,
                recorder.total() == operations.size(),
                blockedIn,
                "");
    }

    /** Returns the rank's waits for other ranks in each of its groups, including closed groups. */
    public static List<GroupRecord> waits(FlightRecorder recorder) {
        return recorder.groups().stream()
                .filter(group -> group.worldRanks().size() > 1)
                .limit(MAX_GROUPS)
                .map(RecordedGroup::waitRecord)
                .toList();
    }
}
