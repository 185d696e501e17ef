package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;

/**
 * A finding: an operation of a group in which the ranks differ or wait.
 *
 * @param sequence number of the operation
 * @param guilty ranks that differ from the others, or for which the others wait; if that is not clear, all candidates
 * @param text the finding in words
 * @param places where every rank of the group is
 */
record Mismatch(
        Kind kind, String group, long sequence, NavigableSet<Integer> guilty, String text, List<RankPlace> places) {
    /** What is wrong. */
    enum Kind {
        /** The ranks made different calls with the same number. */
        MISMATCH,
        /** Some ranks wait for others that have not entered the operation. */
        LATE,
        /** Every rank has entered the operation, and the operation did not end. */
        STUCK
    }

    Mismatch {
        guilty = new TreeSet<>(guilty);
        places = List.copyOf(places);
    }

    /**
     * Where a rank was.
     *
     * @param host empty if the rank has left no dump
     * @param operation the group's operation in which the rank was, or its last one; empty if the dump has none
     * @param words completes "rank 3 ..."
     */
    record RankPlace(int rank, String host, Optional<OperationRecord> operation, String words) {}
}
