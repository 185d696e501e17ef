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
record Ledger(
        SortedMap<Integer, Node> present,
        SortedMap<Integer, String> awaited,
        int restarts,
        int counted,
        int stops,
        SortedMap<Integer, Integer> failures) {
    public Ledger {
        present = Collections.unmodifiableSortedMap(new TreeMap<>(present));
        awaited = Collections.unmodifiableSortedMap(new TreeMap<>(awaited));
        failures = Collections.unmodifiableSortedMap(new TreeMap<>(failures));
    }

    static Ledger awaiting(SortedMap<Integer, String> called) {
        return new Ledger(new TreeMap<>(), called, 0, 0, 0, new TreeMap<>());
    }

    Ledger with(int id, Node node) {
        SortedMap<Integer, Node> more = new TreeMap<>(present);
        more.put(id, node);
        return new Ledger(more, withoutKey(awaited, id), restarts, counted, stops, failures);
    }

    Ledger without(int id) {
        return new Ledger(withoutKey(present, id), withoutKey(awaited, id), restarts, counted, stops, failures);
    }

    Ledger withRestart() {
        return new Ledger(present, awaited, restarts + 1, counted + 1, stops, failures);
    }

    /** The oldest restart does not count any more. */
    Ledger withoutOldestRestart() {
        return new Ledger(present, awaited, restarts, Math.max(0, counted - 1), stops, failures);
    }

    /** Workers are told to stop. */
    Ledger withStop() {
        return new Ledger(present, awaited, restarts, counted, stops + 1, failures);
    }

    /** A worker of this node was the first to fail. */
    Ledger withFailure(int id) {
        return withFailures(id, failures(id) + 1);
    }

    /** The oldest failure of this node does not count any more. */
    Ledger withoutOldestFailure(int id) {
        return withFailures(id, failures(id) - 1);
    }

    private Ledger withFailures(int id, int count) {
        SortedMap<Integer, Integer> counts = new TreeMap<>(failures);
        counts.put(id, Math.max(0, count));
        return new Ledger(present, awaited, restarts, counted, stops, counts);
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
