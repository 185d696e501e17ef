package io.jrun.train.fsdp;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * Keeps the shards of units outside of memory while they are not needed. Units are numbered in the order in which
 * they were wrapped. Values and gradients of a unit have one layout: each shard is padded to whole cache lines. Called
 * on the training thread.
 */
public interface ShardOffload {
    /**
     * Takes over a unit.
     *
     * @param shards the rows of this rank by name, in the order of the layout
     * @param values the first values
     */
    void takeOver(int unit, Map<String, Tensor> shards, MemorySegment values);

    /** Reads the values. */
    void readValues(int unit, MemorySegment into);

    /** Reads the gradients that {@link #writeGradients} has written since the last step of the optimizer. */
    void readGradients(int unit, MemorySegment into);

    /** Keeps the gradients. */
    void writeGradients(int unit, MemorySegment from);

    /** Multiplies all gradients that {@link #writeGradients} has kept, for the next step of the optimizer. */
    void scaleGradients(double factor);

    /** Whether gradients have been written since the last step of the optimizer. */
    boolean hasGradients(int unit);
}
