package io.jrun.comm.tcp;

import java.net.InetAddress;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;

/**
 * The callers that have not authenticated themselves yet, oldest first. The number is limited. When the limit is
 * reached, the oldest caller of the address with the most callers is dropped, so that a flood from one address does not
 * affect other addresses. Confined to one thread.
 */
final class UnauthenticatedPeers {
    private final int limit;
    private final LinkedHashSet<IncomingHandshake> callers = new LinkedHashSet<>();

    UnauthenticatedPeers(int limit) {
        this.limit = limit;
    }

    void add(IncomingHandshake caller) {
        callers.add(caller);
    }

    /** Removes the caller. Returns whether the caller was unauthenticated. */
    boolean remove(IncomingHandshake caller) {
        return callers.remove(caller);
    }

    /** Returns the caller whose time ends first. */
    Optional<IncomingHandshake> oldest() {
        return callers.isEmpty() ? Optional.empty() : Optional.of(callers.getFirst());
    }

    /** Returns the caller to drop before another is added; empty while there is room. */
    Optional<IncomingHandshake> surplus() {
        if (callers.size() < limit) {
            return Optional.empty();
        }
        Map<InetAddress, Integer> counts = new HashMap<>();
        callers.forEach(caller -> counts.merge(address(caller), 1, Integer::sum));
        int most = counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
        return callers.stream()
                .filter(caller -> counts.getOrDefault(address(caller), 0) == most)
                .findFirst();
    }

    private static InetAddress address(IncomingHandshake caller) {
        return caller.connection().socket().socket().getInetAddress();
    }
}
