package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/** The arithmetic of one call, bound to its element type, operator and group size. Segments have whole elements. */
public interface Reduction {
    /** Replaces {@code accumulator} by {@code accumulator op contribution}, elementwise, in that order of operands. */
    void fold(MemorySegment accumulator, MemorySegment contribution);

    /**
     * Reduces one contribution per rank in ascending rank order into {@code result}, and finishes the result. Elements
     * are rounded once.
     *
     * @param contributions at least two contributions as long as {@code result}, which may be one of them; at most one
     *     of them in heap memory
     */
    void foldInRankOrder(MemorySegment[] contributions, MemorySegment result);

    /** Turns the reduction over all ranks into the result: for AVG divides by the group size, else does nothing. */
    void finish(MemorySegment result);
}
