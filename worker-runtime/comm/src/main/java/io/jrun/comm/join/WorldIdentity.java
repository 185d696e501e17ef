package io.jrun.comm.join;

/** Where a rank stands in its world, as its launcher decided. */
public record WorldIdentity(
        int rank,
        int size,
        int localRank,
        int localSize,
        int nodeRank,
        int nodeCount,
        String host,
        String runId,
        int restartCount) {
    /** The world of a process that nobody launched. */
    static WorldIdentity alone() {
        return new WorldIdentity(0, 1, 0, 1, 0, 1, "localhost", "alone", 0);
    }
}
