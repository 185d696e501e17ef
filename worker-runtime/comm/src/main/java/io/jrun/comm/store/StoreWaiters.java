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
 * The waiting commands. Each command is registered at one of its missing keys, so that setting a key with 8,000 ranks
 * checks only the commands that may wait for that key. Not thread-safe.
 */
final class StoreWaiters {
    private final Set<String> present;
    private final Map<String, Set<StoreWaiter>> byKey = new HashMap<>();

    /** Ordered by difference, because the clock may wrap around. */
    private final NavigableMap<Long, Set<StoreWaiter>> byDeadline = new TreeMap<>((a, b) -> Long.signum(a - b));

    /** @param present live set of the existing keys */
    StoreWaiters(Set<String> present) {
        this.present = present;
    }

    /** Adds a command. Returns false if all its keys exist. */
    boolean add(StoreWaiter waiter) {
        return stand(waiter) && put(byDeadline, waiter.deadlineNanos(), waiter);
    }

    private boolean stand(StoreWaiter waiter) {
        Optional<String> missing = waiter.missing(present);
        return missing.isPresent() && put(byKey, missing.get(), waiter);
    }

    /** Removes and returns the commands whose keys all exist after {@code key} was set. */
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

    /** Returns all waiting commands. */
    List<StoreWaiter> all() {
        return byDeadline.values().stream().flatMap(Set::stream).toList();
    }

    /** Removes and returns the commands whose deadline has passed. */
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
