package io.jrun.comm.join;

/** The position of a rank in its world, as the launcher has decided. */
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
    /** Returns the identity of a process that no launcher has started. */
    static WorldIdentity alone() {
        return new WorldIdentity(0, 1, 0, 1, 0, 1, "localhost", "alone", 0);
    }
}
