package io.jrun.comm.record;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The location of one rank: its groups, its operations and its stacks. A dump has all groups and operations that the
 * rank knew. An answer to a request has the requested groups and operations, and stacks. Immutable.
 *
 * @param rank world rank
 * @param worldSize number of ranks; 0 if only {@code reason} is known of the rank
 * @param pid process id of the rank
 * @param takenMillis wall-clock time of the record in milliseconds since 1970; all other times refer to it
 * @param reason reason of the dump; if nothing else is known, the predicate of "rank 3 ..."
 * @param operations operations in the order of their calls
 * @param isWhole whether the record has all operations of the rank
 * @param blockedIn operation for which the program waits, if the program can do nothing else before the operation ends
 * @param stack stacks of the main thread and of the threads that run operations, without a final newline; empty if
 *     unknown
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
    /** The limit of a stack in characters, so that a thousand stacks are only a few megabytes. */
    private static final int MAX_STACK = 8192;

    /** The limit of listed operations. Several threads that run operations are rare. */
    private static final int MAX_PLACES = 4;

    public RankRecord {
        groups = List.copyOf(groups);
        operations = List.copyOf(operations);
        stack = stack.length() <= MAX_STACK ? stack : stack.substring(0, MAX_STACK);
    }

    /**
     * Makes the record of a rank that has not sent a record.
     *
     * @param why predicate of "rank 3 ...": {@code does not answer: process 17 is stopped}
     */
    public static RankRecord unknown(int rank, String why) {
        return new RankRecord(rank, 0, "", 0, 0, 0, why, List.of(), List.of(), true, Optional.empty(), "");
    }

    /** Returns this record with the stacks of the rank's threads. */
    public RankRecord withStack(String text) {
        return new RankRecord(
                rank, worldSize, host, pid, round, takenMillis, reason, groups, operations, isWhole, blockedIn, text);
    }

    /**
     * Decodes the bytes of {@link #encoded}.
     *
     * @throws IOException if the bytes are not a record of this version
     */
    public static RankRecord decode(byte[] bytes) throws IOException {
        return RecordCodec.decode(bytes);
    }

    /** Decodes the record that a rank has sent. If the bytes cannot be decoded, returns a record with that reason. */
    public static RankRecord of(int rank, byte[] bytes) {
        try {
            RankRecord record = decode(bytes);
            return record.rank() == rank ? record : unknown(rank, "has sent the record of rank " + record.rank());
        } catch (IOException e) {
            return unknown(rank, "has sent a record that cannot be read: " + e.getMessage());
        }
    }

    /** Returns the record in its binary form. */
    public byte[] encoded() {
        return RecordCodec.encode(this);
    }

    /** Whether the rank itself has sent the record. */
    public boolean isKnown() {
        return worldSize > 0;
    }

    /** Returns a group if the record has it. */
    public Optional<GroupRecord> group(String name) {
        return groups.stream().filter(group -> group.name().equals(name)).findFirst();
    }

    /** Number of collectives of a group that the rank has started; 0 for a group that the rank has not opened. */
    public long started(String group) {
        return group(group).map(GroupRecord::started).orElse(0L);
    }

    /** Whether the rank is in the collective of this sequence. */
    public boolean isIn(String group, long sequence) {
        return group(group).filter(known -> known.isIn(sequence)).isPresent();
    }

    /** Returns a collective of a group if the record has it. */
    public Optional<OperationRecord> collective(String group, long sequence) {
        return operations.stream()
                .filter(operation -> !operation.isMessage()
                        && operation.sequence() == sequence
                        && operation.group().equals(group))
                .findFirst();
    }

    /** Returns the operations of all groups that run or have failed. */
    public List<OperationRecord> unfinished() {
        return operations.stream().filter(OperationRecord::isUnfinished).toList();
    }

    /** World ranks for which the program waits in {@link #blockedIn}; empty if the program does not wait. */
    public List<Integer> awaitedRanks() {
        return blockedIn
                .flatMap(operation -> group(operation.group())
                        .map(group ->
                                operation.isMessage() ? List.of(group.ranks().get(operation.peer())) : group.ranks()))
                .orElse(List.of());
    }

    /**
     * Returns the predicate of "rank 3 ...": the operations in which the rank is or has failed. If none of them is of
     * {@code group}, the last operation of that group comes first.
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
        unfinished.stream().limit(MAX_PLACES).forEach(operation -> places.add(place(operation)));
        return String.join(", and ", places);
    }

    private String place(OperationRecord operation) {
        return operation.place(label(operation.group()));
    }

    /** Returns a group for messages: by its ranks if the record has them, else by its name. */
    public String label(String group) {
        return group(group).map(GroupRecord::label).orElse("group " + group);
    }

    private String lastPlace(String group) {
        long last = started(group) - 1;
        if (last < 0 && operations.stream().noneMatch(operation -> isEntered(operation, group))) {
            return "has entered no operation of " + label(group);
        }
        return operations.reversed().stream()
                        .filter(operation -> isEntered(operation, group))
                        .findFirst()
                        .map(this::place)
                        .orElse("has completed operation #" + last + " on " + label(group))
                + " and has entered no other operation of that group";
    }

    private static boolean isEntered(OperationRecord operation, String group) {
        return operation.group().equals(group) && operation.state() != OperationState.QUEUED;
    }
}
