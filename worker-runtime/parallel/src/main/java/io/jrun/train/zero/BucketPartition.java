package io.jrun.train.zero;

import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.mesh.TensorBox;
import io.jrun.train.reducer.BucketDivision;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The parts of a bucket among the ranks, see {@link BucketDivision}. The bucket's parameters lie one behind the other,
 * each padded to whole cache lines. A pure function of shapes and number of ranks.
 */
final class BucketPartition {
    private final List<String> names;
    private final List<Tensor> parameters;
    private final BucketDivision division;
    private final long[] offsets;

    BucketPartition(Map<String, Tensor> named, int ranks) {
        this.names = List.copyOf(named.keySet());
        this.parameters = List.copyOf(named.values());
        long lineElements =
                BucketDivision.ALIGNMENT_BYTES / parameters.getFirst().element_size();
        offsets = new long[parameters.size()];
        long at = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = at;
            at += Math.ceilDiv(parameters.get(i).numel(), lineElements) * lineElements;
        }
        division = new BucketDivision(at, lineElements, ranks);
    }

    /** The parameters of buckets. */
    static ShardedState parametersOf(List<BucketPartition> partitions) {
        Map<String, ShardedTensor> all = new LinkedHashMap<>();
        for (BucketPartition partition : partitions) {
            for (int i = 0; i < partition.parameters(); i++) {
                all.put(partition.name(i), ShardedTensor.of(partition.name(i), partition.parameter(i)));
            }
        }
        return new ShardedState(all);
    }

    /** The type of all elements. */
    torch.ScalarType type() {
        return parameters.getFirst().scalar_type().intern();
    }

    int parameters() {
        return names.size();
    }

    List<String> names() {
        return names;
    }

    String name(int index) {
        return names.get(index);
    }

    Tensor parameter(int index) {
        return parameters.get(index);
    }

    /** The index of the first element of a parameter. */
    long offset(int index) {
        return offsets[index];
    }

    /** Elements of the bucket, padding included. */
    long elements() {
        return division.elements();
    }

    /** The elements that a rank updates. */
    ShardRange part(int rank) {
        return division.part(rank);
    }

    /** Elements of each rank's part. */
    long[] partElements() {
        return division.partElements();
    }

    /** The part of a flat tensor that belongs to a parameter, in the parameter's shape. */
    Tensor view(Tensor flat, int index) {
        return flat.narrow(0, offsets[index], parameters.get(index).numel())
                .view(TensorMemory.sizes(parameters.get(index)));
    }

    /**
     * The elements of a parameter that a rank updates, as boxes of the parameter.
     *
     * @param part the rank's part of a flat tensor of the bucket; the boxes are its views
     */
    List<TensorBox> boxes(int index, int rank, Tensor part) {
        long from = Math.max(0, part(rank).offset() - offsets[index]);
        return elements(index, rank, part)
                .map(elements -> FlatBoxes.of(TensorMemory.sizes(parameters.get(index)), from, elements))
                .orElse(List.of());
    }

    /** The elements of a tensor with the shape of a parameter that a rank updates, as boxes. They are views. */
    List<TensorBox> boxesOf(int index, int rank, Tensor whole) {
        ShardRange range = part(rank);
        long begin = Math.max(0, range.offset() - offsets[index]);
        long end = Math.min(whole.numel(), range.offset() + range.length() - offsets[index]);
        return begin < end
                ? FlatBoxes.of(TensorMemory.sizes(whole), begin, whole.view(-1).narrow(0, begin, end - begin))
                : List.of();
    }

    /**
     * The elements of a parameter that a rank updates, of one dimension; empty if there are none.
     *
     * @param part the rank's part of a flat tensor of the bucket; the elements are its view
     */
    Optional<Tensor> elements(int index, int rank, Tensor part) {
        ShardRange range = part(rank);
        long begin = Math.max(offsets[index], range.offset());
        long end = Math.min(offsets[index] + parameters.get(index).numel(), range.offset() + range.length());
        return begin < end ? Optional.of(part.narrow(0, begin - range.offset(), end - begin)) : Optional.empty();
    }

    /** Neighbouring elements of one part that are updated alike. Offset and length count elements of the part. */
    record GroupRange(int group, long offset, long length) {}

    /** The pieces of a rank's part, cut where the parameter group changes. */
    List<GroupRange> groupRanges(int rank, List<Integer> groups) {
        ShardRange part = part(rank);
        List<GroupRange> ranges = new ArrayList<>();
        for (int i = 0; i < offsets.length; i++) {
            long end = i + 1 < offsets.length ? offsets[i + 1] : division.elements();
            long from = Math.max(offsets[i], part.offset());
            long length = Math.min(end, part.offset() + part.length()) - from;
            if (length > 0) {
                append(ranges, new GroupRange(groups.get(i), from - part.offset(), length));
            }
        }
        return ranges;
    }

    private static void append(List<GroupRange> ranges, GroupRange next) {
        if (!ranges.isEmpty() && ranges.getLast().group() == next.group()) {
            GroupRange last = ranges.removeLast();
            ranges.add(new GroupRange(last.group(), last.offset(), last.length() + next.length()));
        } else {
            ranges.add(next);
        }
    }
}
