package io.jrun.agent;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Bounds the number of open connections without authentication. Each such connection costs memory and the arithmetic of
 * a handshake. A new connection is always admitted. Above the limit, the limiter closes another connection without
 * authentication: one of the same address if that address has too many, otherwise one of the address with the most
 * connections. Attackers therefore block neither a launcher on their own host nor callers on other hosts. Thread-safe.
 */
final class HandshakeLimiter {
    private final RefusalLog log;
    private final int mostOfAnAddress;
    private final int most;
    private final Map<InetAddress, Map<InetSocketAddress, Unproven>> byAddress = new HashMap<>();
    private int count;

    /** A connection without authentication. */
    private static final class Unproven {
        private final Runnable close;
        private boolean silent = true;

        Unproven(Runnable close) {
            this.close = close;
        }
    }

    private HandshakeLimiter(RefusalLog log, int mostOfAnAddress, int most) {
        this.log = log;
        this.mostOfAnAddress = mostOfAnAddress;
        this.most = most;
    }

    /** For a standing agent. A host starts a few jobs at once, and each launcher authenticates within milliseconds. */
    static HandshakeLimiter ofAgent(RefusalLog log) {
        return new HandshakeLimiter(log, 64, 1024);
    }

    /** For a launcher. The agents of thousands of nodes may arrive at once, perhaps through one gateway. */
    static HandshakeLimiter ofLauncher(RefusalLog log) {
        return new HandshakeLimiter(log, 4096, 8192);
    }

    RefusalLog log() {
        return log;
    }

    /**
     * Admits a connection. Another connection may be closed for it.
     *
     * @param close closes the new connection, without waiting
     */
    void admit(InetSocketAddress caller, Runnable close) {
        Optional<Unproven> victim = take(caller, new Unproven(close));
        if (victim.isPresent()) {
            log.refused("a connection: too many connections without authentication are open");
            victim.get().close.run();
        }
    }

    private synchronized Optional<Unproven> take(InetSocketAddress caller, Unproven connection) {
        Optional<Unproven> victim = Optional.empty();
        if (of(caller.getAddress()).size() >= mostOfAnAddress) {
            victim = drop(caller.getAddress());
        } else if (count >= most) {
            victim = byAddress.entrySet().stream()
                    .max(Comparator.comparingInt(address -> address.getValue().size()))
                    .flatMap(address -> drop(address.getKey()));
        }
        if (byAddress
                        .computeIfAbsent(caller.getAddress(), _ -> new LinkedHashMap<>())
                        .put(caller, connection)
                == null) {
            count++;
        }
        return victim;
    }

    /**
     * Chooses a connection of an address: the oldest connection without any bytes, because a real caller begins its
     * handshake at once. If all connections have sent bytes, the choice is random. Otherwise callers that reconnect
     * after each close would displace all others.
     */
    private Optional<Unproven> drop(InetAddress address) {
        Map<InetSocketAddress, Unproven> callers = of(address);
        Optional<InetSocketAddress> chosen = callers.entrySet().stream()
                .filter(each -> each.getValue().silent)
                .findFirst()
                .map(Map.Entry::getKey)
                .or(() -> anyOf(callers.keySet()));
        return chosen.flatMap(this::takeOut);
    }

    private static Optional<InetSocketAddress> anyOf(Collection<InetSocketAddress> callers) {
        List<InetSocketAddress> all = List.copyOf(callers);
        return all.isEmpty()
                ? Optional.empty()
                : Optional.of(all.get(ThreadLocalRandom.current().nextInt(all.size())));
    }

    /** The caller has sent its first bytes. */
    synchronized void bytesReceived(InetSocketAddress caller) {
        Unproven connection = of(caller.getAddress()).get(caller);
        if (connection != null) {
            connection.silent = false;
        }
    }

    /** The caller has authenticated or disconnected. */
    synchronized void forget(InetSocketAddress caller) {
        Optional<Unproven> _ = takeOut(caller);
    }

    private Optional<Unproven> takeOut(InetSocketAddress caller) {
        Map<InetSocketAddress, Unproven> callers = byAddress.get(caller.getAddress());
        Unproven connection = callers == null ? null : callers.remove(caller);
        if (connection != null) {
            count--;
            byAddress.computeIfPresent(caller.getAddress(), (_, left) -> left.isEmpty() ? null : left);
        }
        return Optional.ofNullable(connection);
    }

    private Map<InetSocketAddress, Unproven> of(InetAddress address) {
        return byAddress.getOrDefault(address, Map.of());
    }
}
