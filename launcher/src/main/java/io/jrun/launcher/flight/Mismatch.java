package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Something that the ranks of a group do not agree about.
 *
 * @param sequence number of the operation
 * @param guilty ranks that differ from the others, or are awaited by them; where that cannot be told, all it may be
 * @param text the finding in words
 * @param places where every rank of the group is
 */
record Mismatch(Kind kind, String group, long sequence, NavigableSet<Integer> guilty, String text, List<Place> places) {
    /** What is wrong. */
    enum Kind {
        /** The ranks made different calls at the same place. */
        MISMATCH,
        /** Some ranks wait for others that are not there. */
        LATE,
        /** Every rank is there, and it did not end. */
        STUCK
    }

    Mismatch {
        guilty = new TreeSet<>(guilty);
        places = List.copyOf(places);
    }

    /**
     * A rank and the operation of the group that it was in, or had last.
     *
     * @param host empty where the rank has left no dump
     * @param operation empty where there is none, or it is not kept
     */
    record Place(int rank, String host, Optional<OperationRecord> operation, String words) {}
}
