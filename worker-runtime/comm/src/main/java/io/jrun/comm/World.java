package io.jrun.comm;

import java.util.List;

/**
 * All ranks of a job, seen from one of them: who this rank is, the group of everybody, and the store. Made by
 * {@link Distributed#init()} or by {@code LocalWorld}. Thread-safe.
 */
public interface World extends AutoCloseable {
    /** World rank: number of this rank in the job, 0 to size-1. {@link ProcessGroup#groupRank()} is its number in a group. */
    int rank();

    /** Number of ranks of the job. */
    int size();

    /** This rank's number on its node. */
    int localRank();

    /** Number of ranks on this node. */
    int localSize();

    /** This node's number in the job. */
    int nodeRank();

    /** Number of nodes of the job. */
    int nodeCount();

    /** This node's name. */
    String host();

    /** The job's name. */
    String runId();

    /** How often the job's workers have been restarted. */
    int restartCount();

    /** The group of all ranks; closed with the world. */
    ProcessGroup group();

    /** The group of these world ranks, see {@link ProcessGroup#newGroup(List)}. */
    default ProcessGroup newGroup(List<Integer> worldRanks) {
        return group().newGroup(worldRanks);
    }

    /** The job's key-value store. */
    Store store();

    /** Reports numbers of the training, which jrun records. */
    Metrics metrics();

    /** True once after each time a checkpoint was asked for; ranks may hear of it at different steps, so agree about it. */
    boolean checkpointRequested();

    /**
     * Closes all groups as {@link ProcessGroup#close()} does, and tells the others that this rank has left. Idempotent.
     */
    @Override
    void close();
}
