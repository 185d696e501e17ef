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
 * @param guilty ranks that differ from the others, or for which the others wait; all candidates if the guilt is unclear
 * @param text the finding in words
 * @param places the place of every rank of the group
 */
record Mismatch(
        Kind kind, String group, long sequence, NavigableSet<Integer> guilty, String text, List<RankPlace> places) {
    /** The kind of a finding. */
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
     * The place of a rank.
     *
     * @param host empty if the rank has left no dump
     * @param operation the operation of the group in which the rank was, or its last operation; empty if unknown
     * @param words completes "rank 3 ..."
     */
    record RankPlace(int rank, String host, Optional<OperationRecord> operation, String words) {}
}
