package io.jrun.train.fsdp;

import io.jrun.train.mesh.ShardRange;
import java.util.List;

/**
 * The layout of a unit's parameters in a transfer. Each rank has a part: its rows of each parameter, one
 * parameter behind the other. The parts lie in rank order, without padding. The rows follow torch.chunk's rule, so a
 * part may be shorter than others, or empty. A pure function of shapes and number of ranks.
 */
final class ShardLayout {
    private final int ranks;
    private final long[] rows;
    private final long[] rowElements;
    private final long[] partElements;

    ShardLayout(List<long[]> shapes, int ranks) {
        this.ranks = ranks;
        rows = shapes.stream().mapToLong(shape -> shape[0]).toArray();
        rowElements = shapes.stream().mapToLong(ShardLayout::elementsOfRow).toArray();
        partElements = new long[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            for (int parameter = 0; parameter < rows.length; parameter++) {
                partElements[rank] += elements(parameter, rank);
            }
        }
    }

    private static long elementsOfRow(long[] shape) {
        long elements = 1;
        for (int dim = 1; dim < shape.length; dim++) {
            elements *= shape[dim];
        }
        return elements;
    }

    /** The rows of a parameter that a rank holds. */
    ShardRange rows(int parameter, int rank) {
        return ShardRange.of(rows[parameter], ranks, rank);
    }

    /** The number of elements of a parameter that a rank holds. */
    long elements(int parameter, int rank) {
        return rows(parameter, rank).length() * rowElements[parameter];
    }

    /** The index of a rank's first element in the whole parameter. */
    long firstElement(int parameter, int rank) {
        return rows(parameter, rank).offset() * rowElements[parameter];
    }

    /** Elements of each rank's part. */
    long[] partElements() {
        return partElements.clone();
    }

    /** Elements of all parts. */
    long allElements() {
        long all = 0;
        for (long part : partElements) {
            all += part;
        }
        return all;
    }

    /** The elements of all ranks' parts before this rank's. */
    long partBegin(int rank) {
        long begin = 0;
        for (int other = 0; other < rank; other++) {
            begin += partElements[other];
        }
        return begin;
    }

    /** Calls {@code visit} for each piece: the rows of one parameter in one rank's part. */
    void forEachPiece(PieceVisitor visit) {
        long at = 0;
        for (int rank = 0; rank < ranks; rank++) {
            at = forEachPieceOf(rank, at, visit);
        }
    }

    /** As {@link #forEachPiece} for one rank's part, which begins at element {@code begin}. Returns its end. */
    long forEachPieceOf(int rank, long begin, PieceVisitor visit) {
        long at = begin;
        for (int parameter = 0; parameter < rows.length; parameter++) {
            long elements = elements(parameter, rank);
            if (elements > 0) {
                visit.visit(parameter, firstElement(parameter, rank), at, elements);
            }
            at += elements;
        }
        return at;
    }

    /** Takes a piece. All numbers count elements. */
    @FunctionalInterface
    interface PieceVisitor {
        /**
         * Takes one piece.
         *
         * @param inParameter index of the first element in the whole parameter
         * @param inParts index of the first element among all elements of the transfer
         */
        void visit(int parameter, long inParameter, long inParts, long elements);
    }
}
