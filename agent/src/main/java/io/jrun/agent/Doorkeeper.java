package io.jrun.agent;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Bounds how many callers may be connected that have not yet proved who they are: each costs memory and a handshake's
 * arithmetic. Strangers from one address keep out nobody else; who has proved it counts no more. Thread-safe.
 */
final class Doorkeeper {
    private final RefusalLog log;
    private final int mostOfAnAddress;
    private final int most;
    private final Set<InetSocketAddress> unproven = new HashSet<>();
    private final Map<InetAddress, Integer> byAddress = new HashMap<>();

    private Doorkeeper(RefusalLog log, int mostOfAnAddress, int most) {
        this.log = log;
        this.mostOfAnAddress = mostOfAnAddress;
        this.most = most;
    }

    /** Of a standing agent: a host starts a few jobs at once, and each proves itself within milliseconds. */
    static Doorkeeper ofAgent(RefusalLog log) {
        return new Doorkeeper(log, 64, 1024);
    }

    /** Of a launcher, to which the agents of thousands of nodes may come at once, through one gateway perhaps. */
    static Doorkeeper ofLauncher(RefusalLog log) {
        return new Doorkeeper(log, 4096, 8192);
    }

    RefusalLog log() {
        return log;
    }

    /** Whether this caller may stay and prove itself. */
    boolean admits(InetSocketAddress caller) {
        if (take(caller)) {
            return true;
        }
        log.refused("a connection: too many are open that have proved nothing");
        return false;
    }

    private synchronized boolean take(InetSocketAddress caller) {
        int others = byAddress.getOrDefault(caller.getAddress(), 0);
        if (others >= mostOfAnAddress || unproven.size() >= most) {
            return false;
        }
        if (unproven.add(caller)) {
            byAddress.put(caller.getAddress(), others + 1);
        }
        return true;
    }

    /** This caller has proved itself, or is gone. */
    synchronized void forget(InetSocketAddress caller) {
        if (unproven.remove(caller)) {
            byAddress.computeIfPresent(caller.getAddress(), (_, count) -> count == 1 ? null : count - 1);
        }
    }
}
