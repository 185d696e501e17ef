package io.jrun.comm;

import java.util.List;

/**
 * All ranks of a job, seen from one rank: the number of this rank, the group of all ranks, and the store.
 * {@link Distributed#init()} and {@code LocalWorld} make worlds. Thread-safe.
 */
public interface World extends AutoCloseable {
    /** The largest number of characters of a place. */
    int MAX_PLACE_LENGTH = 200;

    /**
     * World rank: number of this rank in the job, 0 to size-1. {@link ProcessGroup#groupRank()} is the number of the
     * rank in a group.
     */
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

    /** Number of restarts of the job's workers so far. */
    int restartCount();

    /**
     * The device of this rank's computation: a GPU if this process sees one, else the CPU. A process sees the GPUs that
     * CUDA_VISIBLE_DEVICES names, or all GPUs of its machine without the variable. jrun gives each worker of a Java
     * program one GPU, which is {@code cuda:0} there. A process that sees several GPUs uses the GPU of its local rank,
     * modulo their number. Ranks that are threads of one JVM have the CPU.
     *
     * <p>The method opens no library. libtorch can use the GPU only if its CUDA build is loaded:
     * {@code io.jrun.train.device.ComputeDevice} chooses the device of a training.
     */
    Device device();

    /** The group of all ranks. Closing the world closes the group. */
    ProcessGroup group();

    /** The group of these world ranks, see {@link ProcessGroup#newGroup(List)}. */
    default ProcessGroup newGroup(List<Integer> worldRanks) {
        return group().newGroup(worldRanks);
    }

    /** The job's key-value store. */
    Store store();

    /** Reports numbers of the training to jrun. */
    Metrics metrics();

    /**
     * Reports the place of this rank in the mesh of the program to jrun. Causes of failures then name the place beside
     * the rank, and jrun warns if ranks that differ along the axis {@code tp} alone are on several nodes.
     * {@code DeviceMesh} calls this method. Does not wait. A world that jrun did not start drops the report.
     *
     * @param place such as {@code pp=1 tp=0}; at most {@value #MAX_PLACE_LENGTH} characters
     * @throws CommException USAGE if the text is longer
     */
    void reportPlace(String place);

    /**
     * Returns true once for each checkpoint request. Ranks may see a request at different steps, so the ranks must
     * agree on a step.
     */
    boolean checkpointRequested();

    /**
     * Closes all groups as {@link ProcessGroup#close()} does, and reports to the other ranks that this rank has left.
     * Idempotent.
     */
    @Override
    void close();
}
