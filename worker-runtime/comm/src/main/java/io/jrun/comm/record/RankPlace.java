package io.jrun.comm.record;

import java.util.ArrayList;
import java.util.List;

/** Where a rank is among its operations, in words. Stateless. */
public final class RankPlace {
    /** More than one thread's operations are rare; the first ones say enough. */
    private static final int MAX_OPERATIONS = 4;

    private static final double NANOS_PER_SECOND = 1e9;

    private RankPlace() {}

    /**
     * Completes "rank 3 ...": in which operations, or, if in none of {@code group}, past which.
     *
     * @param group the name of the group that misses it
     */
    public static String of(FlightRecorder recorder, String group) {
        List<RecordedOperation> operations = recorder.snapshot();
        List<String> places = new ArrayList<>();
        boolean inGroup = false;
        for (RecordedOperation operation : operations) {
            if (operation.state() == OperationState.STARTED && places.size() < MAX_OPERATIONS) {
                places.add("in " + words(operation) + " for "
                        + Math.round((System.nanoTime() - operation.startedNanos()) / NANOS_PER_SECOND) + " s");
                inGroup |= operation.group().equals(group);
            }
        }
        if (!inGroup) {
            places.addFirst(past(operations, group));
        }
        return String.join(", ", places);
    }

    private static String past(List<RecordedOperation> operations, String group) {
        return operations.reversed().stream()
                .filter(operation -> operation.group().equals(group))
                .filter(operation -> operation.state() != OperationState.QUEUED)
                .findFirst()
                .map(last -> "past " + words(last) + " and in nothing of that group since")
                .orElse("having entered no operation of group " + group);
    }

    private static String words(RecordedOperation operation) {
        return operation.describe() + " on group " + operation.group();
    }
}
