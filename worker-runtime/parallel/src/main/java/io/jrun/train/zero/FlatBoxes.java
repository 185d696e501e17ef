package io.jrun.train.zero;

import io.jrun.train.mesh.TensorBox;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * Neighbouring elements of a tensor in row-major order, as boxes of the tensor: whole rows, and before and after these
 * the parts of two rows. The boxes are views of the elements.
 */
final class FlatBoxes {
    private final long[] shape;
    private final Tensor elements;
    private final List<TensorBox> boxes = new ArrayList<>();
    private long done;

    private FlatBoxes(long[] shape, Tensor elements) {
        this.shape = shape;
        this.elements = elements;
    }

    /**
     * The boxes in the order of the elements.
     *
     * @param shape of the whole tensor
     * @param from number of elements of the whole tensor before the first element
     * @param elements of one dimension
     */
    static List<TensorBox> of(long[] shape, long from, Tensor elements) {
        FlatBoxes all = new FlatBoxes(shape, elements);
        long to = from + elements.numel();
        if (shape.length == 0) {
            all.add(new long[0], new long[0]);
        } else {
            all.addRange(0, new long[shape.length], from, to);
        }
        return all.boxes;
    }

    /** Adds the elements {@code from} to {@code to} of the part of the tensor at {@code place}, along {@code dim}. */
    private void addRange(int dim, long[] place, long from, long to) {
        long inner = Arrays.stream(shape, dim + 1, shape.length).reduce(1, (a, b) -> a * b);
        for (long at = from; at < to; ) {
            long row = at / inner;
            long[] offsets = place.clone();
            offsets[dim] = row;
            long end;
            if (at % inner == 0 && to - at >= inner) {
                long rows = (to - at) / inner;
                long[] size = shape.clone();
                Arrays.fill(size, 0, dim, 1);
                size[dim] = rows;
                add(offsets, size);
                end = at + rows * inner;
            } else {
                end = Math.min(to, (row + 1) * inner);
                addRange(dim + 1, offsets, at - row * inner, end - row * inner);
            }
            at = end;
        }
    }

    private void add(long[] offsets, long[] size) {
        long count = Arrays.stream(size).reduce(1, (a, b) -> a * b);
        boxes.add(new TensorBox(
                Arrays.stream(offsets).boxed().toList(),
                elements.narrow(0, done, count).view(size)));
        done += count;
    }
}
