package io.jrun.launcher.job;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How jrun commands that were started one on each node come together: one of them hosts the job, all of them serve it.
 *
 * @param host where it is hosted, a name or a numeric address
 * @param hosting whether this jrun hosts it
 * @param nodeRank of this node, empty for any that is free
 * @param leastNodes so many must come within {@code joinTimeout}
 * @param mostNodes with so many the job starts at once
 * @param job which job, told to the host: another one may meet at the same address
 * @param lastCall how long the job waits for more, once the least have come
 * @param localAddress numeric address at which this node's workers are reached, empty to find out
 * @param workers of this node, empty for what the hosting node's command says
 * @param secretFile what all nodes share
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
    /** How the name of a job begins that was given none. */
    public static final String UNNAMED = "unnamed-";

    /** Whether the user has named the job; else other jobs of the same command line have the same name. */
    public boolean isNamed() {
        return !job.startsWith(UNNAMED);
    }

    /** Who hosts. */
    public enum Hosting {
        /** This jrun. */
        HERE,
        /** Another one. */
        ELSEWHERE,
        /** The first of those whose machine has the address. */
        WHOEVER_IS_FIRST
    }
}
