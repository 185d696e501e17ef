package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * One operation's arguments.
 *
 * @param total elements of the larger of input and output
 * @param input what operations in place work on
 * @param result where the others put theirs
 */
record BenchCase(
        ProcessGroup group, DataType type, ReduceOp op, long total, MemorySegment input, MemorySegment result) {
    /** Elements of one rank's block, where the operation has blocks. */
    long block() {
        return total / group.size();
    }

    int rank() {
        return group.groupRank();
    }

    /** What {@code rank} contributes at {@code index}. */
    long value(long rank, long index) {
        return TestData.of(type, op, rank, index);
    }

    /** What all ranks' contributions at {@code index} make. */
    long reduced(long index) {
        return TestData.reduced(type, op, group.size(), index);
    }
}
