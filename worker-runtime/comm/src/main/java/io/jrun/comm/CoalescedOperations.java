package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Operations on many small buffers as one operation. The elements of all buffers travel together, so the fixed cost of
 * an operation is paid once. The results equal the results of separate calls; in deterministic mode the bits are equal.
 * Every rank passes buffers of the same sizes in the same order. Different sizes are a COLLECTIVE_MISMATCH. Each buffer
 * is used whole. The elements are copied into one packed buffer and back.
 *
 * <p>Buffers on a device are not packed. Each buffer is then a separate operation on the backend's stream. A device
 * that the group cannot use ({@link ProcessGroup#unsupportedReason}) is a USAGE error. All buffers of a call have one
 * type and one device.
 *
 * <p>An instance comes from {@link ProcessGroup#coalesced()} and has the timeout, factor and compression of that view.
 * Thread-safe as the group.
 */
public interface CoalescedOperations {
    /** {@link ProcessGroup#allReduce} of every buffer, in place. */
    void allReduce(List<MemorySegment> buffers, DataType type, ReduceOp op);

    /** Asynchronous {@link #allReduce(List, DataType, ReduceOp)}. */
    Work allReduceAsync(List<MemorySegment> buffers, DataType type, ReduceOp op);

    /** All-reduce of at least one buffer, in place. */
    void allReduce(List<Buffer> buffers, ReduceOp op);

    /** Asynchronous {@link #allReduce(List, ReduceOp)}. */
    Work allReduceAsync(List<Buffer> buffers, ReduceOp op);

    /**
     * {@link ProcessGroup#allGather} of every input.
     *
     * @param outputs for each input one of {@code size()} times its elements; they must not overlap inputs
     */
    void allGather(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type);

    /** Asynchronous {@link #allGather(List, List, DataType)}. */
    Work allGatherAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type);

    /** All-gather of at least one input. Each output has {@code size()} times the elements of its input. */
    void allGather(List<Buffer> inputs, List<Buffer> outputs);

    /** Asynchronous {@link #allGather(List, List)}. */
    Work allGatherAsync(List<Buffer> inputs, List<Buffer> outputs);

    /**
     * {@link ProcessGroup#reduceScatter} of every input.
     *
     * @param inputs for each output one of {@code size()} times its elements; they must not overlap outputs
     */
    void reduceScatter(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op);

    /** Asynchronous {@link #reduceScatter(List, List, DataType, ReduceOp)}. */
    Work reduceScatterAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op);

    /** Reduce-scatter of at least one input. Each input has {@code size()} times the elements of its output. */
    void reduceScatter(List<Buffer> inputs, List<Buffer> outputs, ReduceOp op);

    /** Asynchronous {@link #reduceScatter(List, List, ReduceOp)}. */
    Work reduceScatterAsync(List<Buffer> inputs, List<Buffer> outputs, ReduceOp op);
}
