package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.collective.KernelReduction;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What an algorithm of this package works with.
 *
 * @param node this node's members
 * @param ownColumn this rank's column; null for an extra rank
 * @param arithmetic for what no plane computes: an average's division, once over the whole group
 * @param size of the whole group
 * @param pieceBytes of a piece, see {@link PipelineChunks#bytes}
 */
record HierarchyContext(
        Topology topology,
        IntraNodeCalls node,
        @Nullable InterNodeCalls ownColumn,
        KernelReduction arithmetic,
        int size,
        long pieceBytes) {
    /** This rank's column. */
    InterNodeCalls column() {
        InterNodeCalls present = ownColumn;
        if (present == null) {
            throw new IllegalStateException("an extra rank has no column");
        }
        return present;
    }

    /** What the planes are to compute of {@code op}: they know parts of the group only, so an average is a sum at first. */
    static ReduceOp partial(ReduceOp op) {
        return op == ReduceOp.AVG ? ReduceOp.SUM : op;
    }

    /** Makes the result of what {@link #partial} has computed over all ranks. */
    void finish(Call call, MemorySegment partial) {
        arithmetic.bind(call, size).finish(partial);
    }
}
