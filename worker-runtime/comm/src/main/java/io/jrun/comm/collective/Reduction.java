package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/** The arithmetic of one call, bound to its element type, operator and group size. Segments hold whole elements. */
public interface Reduction {
    /** Replaces {@code accumulator} by {@code accumulator op contribution}, elementwise, in that order of operands. */
    void fold(MemorySegment accumulator, MemorySegment contribution);

    /**
     * Folds one contribution per rank, in ascending rank, into {@code result}, and finishes it; elements are rounded once.
     *
     * @param contributions of two ranks or more, as long as {@code result}, which may be one of them; at most one of them
     *     in heap memory
     */
    void foldInRankOrder(MemorySegment[] contributions, MemorySegment result);

    /** Turns the fold over all ranks into the result: for AVG divides by the group size, else does nothing. */
    void finish(MemorySegment result);
}
