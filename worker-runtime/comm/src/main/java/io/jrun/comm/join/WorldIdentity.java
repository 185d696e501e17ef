package io.jrun.comm.join;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.VisibleGpus;

/**
 * The position of a rank in its world, as the launcher has decided.
 *
 * @param device the device of the rank's computation
 */
public record WorldIdentity(
        int rank,
        int size,
        int localRank,
        int localSize,
        int nodeRank,
        int nodeCount,
        String host,
        String runId,
        int restartCount,
        Device device) {
    /** Returns the identity of a process that no launcher has started. */
    static WorldIdentity alone(VisibleGpus gpus) {
        return new WorldIdentity(0, 1, 0, 1, 0, 1, "localhost", "alone", 0, gpus.deviceOf(0));
    }
}
