package io.jrun.train.weights;

/** Which ranks read the files of a model. The other ranks get the tensors from a rank that reads. */
public enum WeightReaders {
    /** Each rank reads all. No communication; the storage serves the model once for each rank. */
    EVERY_RANK,
    /** The first rank of each node reads, and streams to the ranks of its node through shared memory. */
    ONE_PER_NODE,
    /** Rank 0 reads and broadcasts. Only the node of rank 0 needs the files. */
    RANK_0
}
