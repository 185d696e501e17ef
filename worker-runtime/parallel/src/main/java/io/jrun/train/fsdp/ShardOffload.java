package io.jrun.train.fsdp;

import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * Keeps the shards of units outside of memory while they are not needed. Units are numbered in the order in which
 * they were wrapped. Values and gradients of a unit have one layout: each shard is padded to whole cache lines. Called
 * on the training thread.
 *
 * <p>Reads and writes run on other threads. The caller does not touch the tensor of a transfer, which is flat, before
 * {@link ShardTransfer#await} has returned. A read into memory of a GPU is then queued on the default stream, and a write
 * from such memory follows the work that the default stream held when the write began. At most two reads of values,
 * one read of gradients and two writes run at a time.
 */
public interface ShardOffload {
    /**
     * Takes over a unit.
     *
     * @param name of the unit, for messages
     * @param shards the rows of this rank by name, in the order of the layout
     * @param values the first values
     */
    void takeOver(int unit, String name, Map<String, Tensor> shards, Tensor values);

    /** Begins to read the values. At the end the memory has the values after the last step of the optimizer. */
    ShardTransfer readValues(int unit, Tensor into);

    /** A number that changes with each step of the optimizer: the values of another number are other values. */
    long version();

    /** Begins to read the gradients that {@link #writeGradients} has written since the last step of the optimizer. */
    ShardTransfer readGradients(int unit, Tensor into);

    /** Begins to write the gradients. */
    ShardTransfer writeGradients(int unit, Tensor from);

    /** Multiplies all gradients that {@link #writeGradients} has kept, for the next step of the optimizer. */
    void scaleGradients(double factor);

    /**
     * Whether the unit has had gradients since the last step of the optimizer: a write of gradients has ended, or an
     * update within the pass has taken them. After such an update no file has the gradients.
     */
    boolean hasGradients(int unit);

    /** Drops the gradients of the unit, also those that an update within the pass has taken: no step uses them. */
    void dropGradients(int unit);
}
