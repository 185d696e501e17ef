package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * The arguments of an operation.
 *
 * @param total elements of the larger of input and output
 * @param input the buffer of operations in place
 * @param result the result of other operations
 */
record BenchCase(
        ProcessGroup group, DataType type, ReduceOp op, long total, MemorySegment input, MemorySegment result) {
    /** The elements of one rank's block, for operations with blocks. */
    long block() {
        return total / group.size();
    }

    int rank() {
        return group.groupRank();
    }

    /** Returns the contribution of {@code rank} at {@code index}. */
    long value(long rank, long index) {
        return TestData.of(type, op, rank, index);
    }

    /** Returns the reduction of all contributions at {@code index}. */
    long reduced(long index) {
        return TestData.reduced(type, op, group.size(), index);
    }
}
