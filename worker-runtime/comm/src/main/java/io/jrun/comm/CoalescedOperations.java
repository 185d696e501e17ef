package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Operations on many small buffers as one: their elements travel together, and the cost of an operation is paid once. The
 * results are those of separate calls, in deterministic mode bit for bit. Every rank passes buffers of the same sizes in
 * the same order; other sizes are a COLLECTIVE_MISMATCH. Buffers are used whole, and copied into one and back.
 *
 * <p>From {@link ProcessGroup#coalesced()}; has that view's timeout, factor and compression. Thread-safe as the group.
 */
public interface CoalescedOperations {
    /** {@link ProcessGroup#allReduce} of every buffer, in place. */
    void allReduce(List<MemorySegment> buffers, DataType type, ReduceOp op);

    /** Asynchronous {@link #allReduce}. */
    Work allReduceAsync(List<MemorySegment> buffers, DataType type, ReduceOp op);

    /**
     * {@link ProcessGroup#allGather} of every input.
     *
     * @param outputs for each input one of {@code size()} times its elements; they must not overlap inputs
     */
    void allGather(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type);

    /** Asynchronous {@link #allGather}. */
    Work allGatherAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type);

    /**
     * {@link ProcessGroup#reduceScatter} of every input.
     *
     * @param inputs for each output one of {@code size()} times its elements; they must not overlap outputs
     */
    void reduceScatter(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op);

    /** Asynchronous {@link #reduceScatter}. */
    Work reduceScatterAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op);
}
