package io.jrun.train.weights;

/** The ranks that read the files of a model. The other ranks get the tensors from a reading rank. */
public enum WeightReaders {
    /** Each rank reads all files. The ranks do not communicate. The storage delivers the files once for each rank. */
    EVERY_RANK,
    /** The first rank of each node reads, and sends the tensors to the ranks of its node through shared memory. */
    ONE_PER_NODE,
    /** Rank 0 reads and broadcasts. Only the node of rank 0 needs the files. */
    RANK_0
}
