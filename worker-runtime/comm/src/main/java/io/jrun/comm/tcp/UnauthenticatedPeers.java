package io.jrun.comm.tcp;

import java.net.InetAddress;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;

/**
 * The callers that have not proved yet that they belong to the job, the oldest first. There are only so many: the oldest of
 * the address that has the most of them makes room, so that a flood from one address does no harm to the others. Confined to
 * one thread.
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

    /** Whether the caller was one of them. */
    boolean remove(IncomingHandshake caller) {
        return callers.remove(caller);
    }

    /** Whose time to prove itself ends first. */
    Optional<IncomingHandshake> oldest() {
        return callers.isEmpty() ? Optional.empty() : Optional.of(callers.getFirst());
    }

    /** Who has to go before another is added; empty while there is room. */
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
