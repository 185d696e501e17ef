package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.collective.KernelReduction;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The objects that the algorithms of this package use.
 *
 * @param node calls among this node's members
 * @param ownColumn calls among this rank's column; null for an extra rank
 * @param arithmetic arithmetic of steps outside the data planes: the division of an average, once over the whole group
 * @param size size of the whole group
 * @param pieceBytes size of a pipeline chunk, see {@link PipelineChunks#bytes}
 */
record HierarchyContext(
        Topology topology,
        IntraNodeCalls node,
        @Nullable InterNodeCalls ownColumn,
        KernelReduction arithmetic,
        int size,
        long pieceBytes) {
    /** Returns the calls among this rank's column. */
    InterNodeCalls column() {
        InterNodeCalls present = ownColumn;
        if (present == null) {
            throw new IllegalStateException("an extra rank has no column");
        }
        return present;
    }

    /** Returns the operator for partial results. The parts know only a part of the group, so AVG is a SUM at first. */
    static ReduceOp partial(ReduceOp op) {
        return op == ReduceOp.AVG ? ReduceOp.SUM : op;
    }

    /** Turns the reduction with {@link #partial} over all ranks into the result. */
    void finish(Call call, MemorySegment partial) {
        arithmetic.bind(call, size).finish(partial);
    }
}
