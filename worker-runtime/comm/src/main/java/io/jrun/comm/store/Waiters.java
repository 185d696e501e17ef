package io.jrun.comm.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Those who wait for keys. Each stands at one key that it lacks, so that with 8,000 ranks a key that is set costs those a look
 * who may wait for that one. Not thread-safe.
 */
final class Waiters {
    private final Set<String> present;
    private final Map<String, Set<Waiter>> byKey = new HashMap<>();

    /** The clock may wrap. */
    private final NavigableMap<Long, Set<Waiter>> byDeadline = new TreeMap<>((a, b) -> Long.signum(a - b));

    /** @param present the keys that are there, as they change */
    Waiters(Set<String> present) {
        this.present = present;
    }

    /** Takes one in; false if it has nothing to wait for. */
    boolean add(Waiter waiter) {
        return stand(waiter) && put(byDeadline, waiter.deadlineNanos(), waiter);
    }

    private boolean stand(Waiter waiter) {
        Optional<String> missing = waiter.missing(present);
        return missing.isPresent() && put(byKey, missing.get(), waiter);
    }

    /** A key may have come: removes and returns those whose keys are all there now. */
    List<Waiter> touched(String key) {
        List<Waiter> done = new ArrayList<>();
        for (Waiter waiter : Optional.ofNullable(byKey.remove(key)).orElse(Set.of())) {
            if (!stand(waiter)) {
                remove(byDeadline, waiter.deadlineNanos(), waiter);
                done.add(waiter);
            }
        }
        return done;
    }

    /** All that wait. */
    List<Waiter> all() {
        return byDeadline.values().stream().flatMap(Set::stream).toList();
    }

    /** Removes and returns those whose time is over. */
    List<Waiter> expired(long nowNanos) {
        List<Waiter> late = new ArrayList<>();
        while (!byDeadline.isEmpty() && nowNanos - byDeadline.firstKey() >= 0) {
            late.addAll(byDeadline.pollFirstEntry().getValue());
        }
        late.forEach(waiter -> remove(byKey, waiter.lacking(), waiter));
        return late;
    }

    private static <K> boolean put(Map<K, Set<Waiter>> map, K key, Waiter waiter) {
        return map.computeIfAbsent(key, _ -> new LinkedHashSet<>()).add(waiter);
    }

    private static <K> void remove(Map<K, Set<Waiter>> map, K key, Waiter waiter) {
        map.computeIfPresent(key, (_, all) -> all.remove(waiter) && all.isEmpty() ? null : all);
    }
}
