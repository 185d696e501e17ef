package io.jrun.train.checkpoint.sharded;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/**
 * The box that a wanted part of a tensor and a saved chunk have in common.
 *
 * @param offsets in the whole tensor
 * @param shape the shape of the box
 */
record Overlap(List<Long> offsets, List<Long> shape) {
    /** Returns the common box; empty if there is none. */
    static Optional<Overlap> of(StateEntry wanted, Chunk saved) {
        List<Long> offsets = new ArrayList<>();
        List<Long> shape = new ArrayList<>();
        for (int i = 0; i < wanted.offsets().size(); i++) {
            long from = Math.max(wanted.offsets().get(i), saved.offsets().get(i));
            long to = Math.min(
                    wanted.offsets().get(i) + wanted.shape().get(i),
                    saved.offsets().get(i) + saved.shape().get(i));
            if (to <= from) {
                return Optional.empty();
            }
            offsets.add(from);
            shape.add(to - from);
        }
        return Optional.of(new Overlap(offsets, shape));
    }

    long elements() {
        return Chunk.volume(shape);
    }

    /** Whether the box has all elements of the rows that it touches in a box of shape {@code outer}. */
    boolean hasWholeRowsOf(List<Long> outer) {
        return shape.isEmpty() || shape.subList(1, shape.size()).equals(outer.subList(1, outer.size()));
    }

    /** The index of the first row in a box that begins at {@code begin}. */
    long firstRow(List<Long> begin) {
        return offsets.isEmpty() ? 0 : offsets.getFirst() - begin.getFirst();
    }

    long rows() {
        return shape.isEmpty() ? 1 : shape.getFirst();
    }

    /** The elements of this box in a tensor whose first element is at {@code begin}. A view. */
    Tensor in(Tensor tensor, List<Long> begin) {
        Tensor view = tensor;
        for (int i = 0; i < shape.size(); i++) {
            view = view.narrow(i, offsets.get(i) - begin.get(i), shape.get(i));
        }
        return view;
    }
}
