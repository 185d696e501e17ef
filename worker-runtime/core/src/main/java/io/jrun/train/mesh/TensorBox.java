package io.jrun.train.mesh;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * Elements of a part that are neighbours in the whole tensor in every dimension.
 *
 * @param offsets the indices of the first element in the whole tensor, one for each dimension
 * @param local the elements: a view of the part
 */
public record TensorBox(List<Long> offsets, Tensor local) {
    public TensorBox {
        offsets = List.copyOf(offsets);
    }

    /** Some elements of a dimension. */
    private record Run(long offset, long length) {}

    /**
     * The boxes of the whole tensor that a box of a part covers, in the order of its elements. A box without elements
     * is one box.
     */
    static List<TensorBox> of(ShardedTensor tensor, TensorBox piece) {
        List<TensorBox> boxes = List.of(new TensorBox(List.of(), piece.local()));
        for (int dim = 0; dim < tensor.globalShape().size(); dim++) {
            List<Run> runs = within(
                    runs(tensor, dim), piece.offsets().get(dim), piece.local().size(dim));
            List<TensorBox> divided = new ArrayList<>();
            for (TensorBox box : boxes) {
                long at = 0;
                for (Run run : runs) {
                    List<Long> offsets = new ArrayList<>(box.offsets());
                    offsets.add(run.offset());
                    Tensor elements = runs.size() == 1
                            ? box.local()
                            : box.local().detach().narrow(dim, at, run.length());
                    divided.add(new TensorBox(offsets, elements));
                    at += run.length();
                }
            }
            boxes = divided;
        }
        return boxes;
    }

    /** The indices of the whole dimension that this rank holds, in the order of the part. */
    private static List<Run> runs(ShardedTensor tensor, int dim) {
        List<Run> runs = List.of(new Run(0, tensor.globalShape().get(dim)));
        for (AxisPlacement each : tensor.placements()) {
            if (each.placement() instanceof Shard shard && shard.dim() == dim) {
                runs = part(runs, shard, each.axis());
            }
        }
        return runs;
    }

    private static List<Run> part(List<Run> runs, Shard shard, MeshAxis axis) {
        long section = runs.stream().mapToLong(Run::length).sum() / shard.sections();
        ShardRange range = ShardRange.of(section, axis.size(), axis.coordinate());
        List<Run> parts = new ArrayList<>();
        for (int i = 0; i < shard.sections(); i++) {
            addPart(parts, runs, i * section + range.offset(), range.length());
        }
        return parts.isEmpty() ? List.of(new Run(runs.getFirst().offset(), 0)) : parts;
    }

    /** The indices of some places of a part. */
    private static List<Run> within(List<Run> runs, long from, long length) {
        List<Run> some = new ArrayList<>();
        addPart(some, runs, from, length);
        return some.isEmpty() ? List.of(new Run(runs.getFirst().offset(), 0)) : some;
    }

    /** Adds the indices of the places from {@code from} on. Neighbours become one run. */
    private static void addPart(List<Run> parts, List<Run> runs, long from, long length) {
        long at = 0;
        for (Run run : runs) {
            long begin = Math.max(from, at);
            long end = Math.min(from + length, at + run.length());
            if (begin < end) {
                add(parts, new Run(run.offset() + begin - at, end - begin));
            }
            at += run.length();
        }
    }

    private static void add(List<Run> parts, Run next) {
        Run last = parts.isEmpty() ? next : parts.getLast();
        if (!parts.isEmpty() && last.offset() + last.length() == next.offset()) {
            parts.set(parts.size() - 1, new Run(last.offset(), last.length() + next.length()));
        } else {
            parts.add(next);
        }
    }
}
