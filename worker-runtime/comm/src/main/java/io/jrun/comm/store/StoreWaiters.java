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
final class StoreWaiters {
    private final Set<String> present;
    private final Map<String, Set<StoreWaiter>> byKey = new HashMap<>();

    /** The clock may wrap. */
    private final NavigableMap<Long, Set<StoreWaiter>> byDeadline = new TreeMap<>((a, b) -> Long.signum(a - b));

    /** @param present the keys that are there, as they change */
    StoreWaiters(Set<String> present) {
        this.present = present;
    }

    /** Takes one in; false if it has nothing to wait for. */
    boolean add(StoreWaiter waiter) {
        return stand(waiter) && put(byDeadline, waiter.deadlineNanos(), waiter);
    }

    private boolean stand(StoreWaiter waiter) {
        Optional<String> missing = waiter.missing(present);
        return missing.isPresent() && put(byKey, missing.get(), waiter);
    }

    /** A key may have come: removes and returns those whose keys are all there now. */
    List<StoreWaiter> touched(String key) {
        List<StoreWaiter> done = new ArrayList<>();
        for (StoreWaiter waiter : Optional.ofNullable(byKey.remove(key)).orElse(Set.of())) {
            if (!stand(waiter)) {
                remove(byDeadline, waiter.deadlineNanos(), waiter);
                done.add(waiter);
            }
        }
        return done;
    }

    /** All that wait. */
    List<StoreWaiter> all() {
        return byDeadline.values().stream().flatMap(Set::stream).toList();
    }

    /** Removes and returns those whose time is over. */
    List<StoreWaiter> expired(long nowNanos) {
        List<StoreWaiter> late = new ArrayList<>();
        while (!byDeadline.isEmpty() && nowNanos - byDeadline.firstKey() >= 0) {
            late.addAll(byDeadline.pollFirstEntry().getValue());
        }
        late.forEach(waiter -> remove(byKey, waiter.lacking(), waiter));
        return late;
    }

    private static <K> boolean put(Map<K, Set<StoreWaiter>> map, K key, StoreWaiter waiter) {
        return map.computeIfAbsent(key, _ -> new LinkedHashSet<>()).add(waiter);
    }

    private static <K> void remove(Map<K, Set<StoreWaiter>> map, K key, StoreWaiter waiter) {
        map.computeIfPresent(key, (_, all) -> all.remove(waiter) && all.isEmpty() ? null : all);
    }
}
