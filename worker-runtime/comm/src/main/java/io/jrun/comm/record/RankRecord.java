package io.jrun.comm.record;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Where one rank is. A dump has all groups and operations that the rank knew. The answer to a question has those that the
 * question concerns, and stacks. Immutable.
 *
 * @param rank world rank
 * @param worldSize number of ranks; 0 if nothing is known of the rank but {@code reason}
 * @param pid the process of the rank
 * @param takenMillis wall clock of the moment to which all times refer, since 1970
 * @param reason why the rank has dumped the record; where nothing else is known, completes "rank 3 ..."
 * @param operations in the order of their calls
 * @param isWhole whether the rank had no other operations
 * @param blockedIn the operation in which the program waits, if the program can do nothing else before that operation ends
 * @param stack of the main thread and of the threads that run operations, lines without an end of the last; empty if unknown
 */
public record RankRecord(
        int rank,
        int worldSize,
        String host,
        long pid,
        int round,
        long takenMillis,
        String reason,
        List<GroupRecord> groups,
        List<OperationRecord> operations,
        boolean isWhole,
        Optional<OperationRecord> blockedIn,
        String stack) {
    /** Deeper stacks are cut here, so that a thousand of them are still a few megabytes. */
    private static final int MAX_STACK = 8192;

    /** Several threads that run operations are rare. The first ones say enough. */
    private static final int MAX_PLACES = 4;

    public RankRecord {
        groups = List.copyOf(groups);
        operations = List.copyOf(operations);
        stack = stack.length() <= MAX_STACK ? stack : stack.substring(0, MAX_STACK);
    }

    /**
     * The record of a rank that has not given one.
     *
     * @param why completes "rank 3 ...": {@code does not answer: process 17 is stopped}
     */
    public static RankRecord unknown(int rank, String why) {
        return new RankRecord(rank, 0, "", 0, 0, 0, why, List.of(), List.of(), true, Optional.empty(), "");
    }

    /** The same with the stack of the rank's threads. */
    public RankRecord withStack(String text) {
        return new RankRecord(
                rank, worldSize, host, pid, round, takenMillis, reason, groups, operations, isWhole, blockedIn, text);
    }

    /**
     * Reads what {@link #encoded} has made.
     *
     * @throws IOException if the bytes are no record of this version
     */
    public static RankRecord decode(byte[] bytes) throws IOException {
        return RecordCodec.decode(bytes);
    }

    /** What a rank has sent as its record; where that cannot be read, a record that says so. */
    public static RankRecord of(int rank, byte[] bytes) {
        try {
            RankRecord record = decode(bytes);
            return record.rank() == rank ? record : unknown(rank, "has sent the record of rank " + record.rank());
        } catch (IOException e) {
            return unknown(rank, "has sent a record that cannot be read: " + e.getMessage());
        }
    }

    /** The record in its binary form. */
    public byte[] encoded() {
        return RecordCodec.encode(this);
    }

    /** Whether the rank itself has given the record. */
    public boolean isKnown() {
        return worldSize > 0;
    }

    /** A group, if the record has it. */
    public Optional<GroupRecord> group(String name) {
        return groups.stream().filter(group -> group.name().equals(name)).findFirst();
    }

    /** How many collectives of a group the rank has started; 0 for a group that the rank has not opened. */
    public long started(String group) {
        return group(group).map(GroupRecord::started).orElse(0L);
    }

    /** Whether the rank is in that collective. */
    public boolean isIn(String group, long sequence) {
        return group(group).filter(known -> known.isIn(sequence)).isPresent();
    }

    /** A collective of a group, if the record has it. */
    public Optional<OperationRecord> collective(String group, long sequence) {
        return operations.stream()
                .filter(operation -> !operation.isMessage()
                        && operation.sequence() == sequence
                        && operation.group().equals(group))
                .findFirst();
    }

    /** The operations of whatever group that have begun and did not reach their ends. */
    public List<OperationRecord> unfinished() {
        return operations.stream().filter(OperationRecord::isUnfinished).toList();
    }

    /** World ranks for which the program waits in {@link #blockedIn}; empty where the program does not wait. */
    public List<Integer> awaitedRanks() {
        return blockedIn
                .flatMap(operation -> group(operation.group())
                        .map(group ->
                                operation.isMessage() ? List.of(group.ranks().get(operation.peer())) : group.ranks()))
                .orElse(List.of());
    }

    /**
     * Completes "rank 3 ...": the operations in which the rank is or has failed, and before them the last operation of {@code
     * group} if none of them is of that group.
     */
    public String place(String group) {
        if (!isKnown()) {
            return reason;
        }
        List<OperationRecord> unfinished = unfinished();
        List<String> places = new ArrayList<>();
        if (unfinished.stream().noneMatch(operation -> operation.group().equals(group))) {
            places.add(lastPlace(group));
        }
        unfinished.stream().limit(MAX_PLACES).forEach(operation -> places.add(operation.place()));
        return String.join(", and ", places);
    }

    private String lastPlace(String group) {
        long last = started(group) - 1;
        if (last < 0 && operations.stream().noneMatch(operation -> isEntered(operation, group))) {
            return "has entered no operation of group " + group;
        }
        return operations.reversed().stream()
                        .filter(operation -> isEntered(operation, group))
                        .findFirst()
                        .map(OperationRecord::place)
                        .orElse("has completed operation #" + last + " on group " + group)
                + " and has entered no other operation of that group";
    }

    private static boolean isEntered(OperationRecord operation, String group) {
        return operation.group().equals(group) && operation.state() != OperationState.QUEUED;
    }
}
