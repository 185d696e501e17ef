package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.Node;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What holds from round to round of a job. Immutable.
 *
 * @param present the nodes whose agents have opened the job, by id, with or without a seat in the current round
 * @param awaited how messages name those that have been called and have neither come nor gone, by id
 * @param restarts how often workers were started again after a failure
 * @param counted how many of them still count against {@code --max-restarts}
 * @param stops how often workers were told to stop, which is the number of the latest stop
 * @param failures how often the workers of a node were the first to fail, of late, by id
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

    /** The oldest restart does not count any more. */
    JobProgress withoutOldestRestart() {
        return new JobProgress(present, awaited, restarts, Math.max(0, counted - 1), stops, failures);
    }

    /** Workers are told to stop. */
    JobProgress withStop() {
        return new JobProgress(present, awaited, restarts, counted, stops + 1, failures);
    }

    /** A worker of this node was the first to fail. */
    JobProgress withFailure(int id) {
        return withFailures(id, failures(id) + 1);
    }

    /** The oldest failure of this node does not count any more. */
    JobProgress withoutOldestFailure(int id) {
        return withFailures(id, failures(id) - 1);
    }

    private JobProgress withFailures(int id, int count) {
        SortedMap<Integer, Integer> counts = new TreeMap<>(failures);
        counts.put(id, Math.max(0, count));
        return new JobProgress(present, awaited, restarts, counted, stops, counts);
    }

    /** How often the workers of this node were the first to fail, of late. */
    int failures(int id) {
        return failures.getOrDefault(id, 0);
    }

    private static <V> SortedMap<Integer, V> withoutKey(SortedMap<Integer, V> map, int key) {
        SortedMap<Integer, V> fewer = new TreeMap<>(map);
        fewer.remove(key);
        return fewer;
    }
}
