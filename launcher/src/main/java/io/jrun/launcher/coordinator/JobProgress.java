package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.Node;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The part of a job's state that all rounds share. Immutable.
 *
 * @param present the nodes whose agents have opened the job, by id, spare nodes included
 * @param awaited the names of the nodes whose connection is neither open nor failed, by id
 * @param restarts number of restarts after failures
 * @param counted number of restarts that count against {@code --max-restarts}
 * @param stops number of stops, which is also the number of the latest stop
 * @param failures number of recent rounds in which a worker of the node failed first, by id
 */
record JobProgress(
        SortedMap<Integer, Node> present,
        SortedMap<Integer, String> awaited,
        int restarts,
        int counted,
        int stops,
        SortedMap<Integer, Integer> failures) {
    public JobProgress {
        present = Collections.unmodifiableSortedMap(new TreeMap<>(present));
        awaited = Collections.unmodifiableSortedMap(new TreeMap<>(awaited));
        failures = Collections.unmodifiableSortedMap(new TreeMap<>(failures));
    }

    static JobProgress awaiting(SortedMap<Integer, String> called) {
        return new JobProgress(new TreeMap<>(), called, 0, 0, 0, new TreeMap<>());
    }

    JobProgress with(int id, Node node) {
        SortedMap<Integer, Node> more = new TreeMap<>(present);
        more.put(id, node);
        return new JobProgress(more, withoutKey(awaited, id), restarts, counted, stops, failures);
    }

    JobProgress without(int id) {
        return new JobProgress(withoutKey(present, id), withoutKey(awaited, id), restarts, counted, stops, failures);
    }

    JobProgress withRestart() {
        return new JobProgress(present, awaited, restarts + 1, counted + 1, stops, failures);
    }

    /** Removes the oldest restart from the count. */
    JobProgress withoutOldestRestart() {
        return new JobProgress(present, awaited, restarts, Math.max(0, counted - 1), stops, failures);
    }

    /** Counts a stop. */
    JobProgress withStop() {
        return new JobProgress(present, awaited, restarts, counted, stops + 1, failures);
    }

    /** Counts a failure: a worker of this node failed first. */
    JobProgress withFailure(int id) {
        return withFailures(id, failures(id) + 1);
    }

    /** Removes the oldest failure of this node from the count. */
    JobProgress withoutOldestFailure(int id) {
        return withFailures(id, failures(id) - 1);
    }

    private JobProgress withFailures(int id, int count) {
        SortedMap<Integer, Integer> counts = new TreeMap<>(failures);
        counts.put(id, Math.max(0, count));
        return new JobProgress(present, awaited, restarts, counted, stops, counts);
    }

    /** Number of recent rounds in which a worker of this node failed first. */
    int failures(int id) {
        return failures.getOrDefault(id, 0);
    }

    private static <V> SortedMap<Integer, V> withoutKey(SortedMap<Integer, V> map, int key) {
        SortedMap<Integer, V> fewer = new TreeMap<>(map);
        fewer.remove(key);
        return fewer;
    }
}
