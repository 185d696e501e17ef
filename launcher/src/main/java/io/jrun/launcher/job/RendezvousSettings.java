package io.jrun.launcher.job;

import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * The settings of a rendezvous: one jrun on each node. One of the jruns hosts the job. All jruns run its workers.
 *
 * @param host the host of the rendezvous, a name or a numeric address
 * @param hosting whether this jrun hosts the job
 * @param nodeRank node rank of this node, empty for the next free one
 * @param leastNodes the number of nodes that must join within {@code joinTimeout}
 * @param mostNodes the number of nodes with which the job starts at once
 * @param job the name of the job; the host compares it, because another job may use the same address
 * @param lastCall how long the job waits for further nodes once the least number has joined
 * @param localAddress numeric address of this node for the other nodes' workers, empty to find the address
 * @param workers number of workers of this node, empty for the number of the hosting node
 * @param secretFile the file with the secret of all nodes
 */
public record RendezvousSettings(
        String host,
        int port,
        Hosting hosting,
        OptionalInt nodeRank,
        int leastNodes,
        int mostNodes,
        String job,
        Duration joinTimeout,
        Duration lastCall,
        String localAddress,
        Optional<WorkerCount> workers,
        Path secretFile) {
    /** The prefix of a generated job name. */
    public static final String UNNAMED = "unnamed-";

    /** The names of the loopback addresses, the same on every machine. */
    private static final Pattern LOCALHOST =
            Pattern.compile("(?i)localhost[46]?([.]localdomain[46]?)?|ip6-(localhost|loopback)|.*[.]localhost");

    /**
     * Whether all nodes are on this machine, because the host leads every machine to itself. A name that only this
     * machine maps to a loopback address does not: Debian's /etc/hosts maps the own name to 127.0.1.1, and other
     * machines find this machine by it.
     */
    public boolean isOnOneMachine() {
        if (LOCALHOST.matcher(host).matches()) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false; // a name
        }
    }

    /** Whether the user has named the job. Otherwise all jobs of the same command line have the same name. */
    public boolean isNamed() {
        return !job.startsWith(UNNAMED);
    }

    /** Decides which jrun hosts the job. */
    public enum Hosting {
        /** This jrun hosts the job. */
        HERE,
        /** Another jrun hosts the job. */
        ELSEWHERE,
        /** The first jrun that listens, among the jruns on the machine with the address. */
        FIRST_TO_LISTEN
    }
}
