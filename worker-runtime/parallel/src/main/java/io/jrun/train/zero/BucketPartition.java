package io.jrun.train.zero;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.ddp.BucketPlan;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.mesh.TensorBox;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Divides a bucket among the ranks. The bucket's parameters lie one behind the other, each padded to whole cache lines.
 * The parts are whole cache lines too: torch.chunk's rule for the lines. A pure function of shapes and number of ranks.
 */
final class BucketPartition {
    private static final long ALIGNMENT_BYTES = 64;

    private final List<String> names;
    private final List<Tensor> parameters;
    private final int ranks;
    private final long lineElements;
    private final long[] offsets;
    private final long elements;

    BucketPartition(List<String> names, List<Tensor> parameters, int ranks) {
        this.names = List.copyOf(names);
        this.parameters = List.copyOf(parameters);
        this.ranks = ranks;
        lineElements = ALIGNMENT_BYTES / parameters.getFirst().element_size();
        offsets = new long[parameters.size()];
        long at = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = at;
            at += Math.ceilDiv(parameters.get(i).numel(), lineElements) * lineElements;
        }
        elements = at;
    }

    /**
     * Divides parameters into buckets in the order of a backward pass, and each bucket among the ranks. Parameters that
     * require no gradient are left out.
     *
     * @param bucketBytes see {@link BucketPlan}
     */
    static List<BucketPartition> plan(Map<String, Tensor> named, List<Long> bucketBytes, int ranks) {
        List<Map.Entry<String, Tensor>> trained = named.entrySet().stream()
                .filter(parameter -> parameter.getValue().requires_grad())
                .toList();
        List<BucketPlan.Item> items =
                trained.stream().map(BucketPartition::item).toList();
        return BucketPlan.of(items, BucketPlan.reverseRegistration(items.size()), bucketBytes).buckets().stream()
                .map(members -> new BucketPartition(
                        members.stream()
                                .map(trained::get)
                                .map(Map.Entry::getKey)
                                .toList(),
                        members.stream()
                                .map(trained::get)
                                .map(Map.Entry::getValue)
                                .toList(),
                        ranks))
                .toList();
    }

    /** Calls {@code complete} with the bucket of a parameter when a backward pass has completed the gradient. */
    static LeafHooks watch(List<BucketPartition> partitions, IntConsumer complete) {
        List<Tensor> leaves = new ArrayList<>();
        List<Integer> bucketOf = new ArrayList<>();
        for (int bucket = 0; bucket < partitions.size(); bucket++) {
            leaves.addAll(partitions.get(bucket).parameters);
            bucketOf.addAll(Collections.nCopies(partitions.get(bucket).parameters(), bucket));
        }
        return AutogradBridge.instance().watch(leaves, leaf -> complete.accept(bucketOf.get(leaf)));
    }

    /** The number of parameters of each bucket. */
    static int[] counts(List<BucketPartition> partitions) {
        return partitions.stream().mapToInt(BucketPartition::parameters).toArray();
    }

    private static BucketPlan.Item item(Map.Entry<String, Tensor> parameter) {
        return new BucketPlan.Item(
                TensorTypes.of(parameter.getValue())
                        .orElseThrow(() -> new IllegalArgumentException("parameter '" + parameter.getKey()
                                + "' has a type that ranks cannot reduce. Convert the module with to(...).")),
                parameter.getValue().nbytes());
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
        return elements;
    }

    /** Bytes of the bucket, padding included. */
    long bytes() {
        return elements * parameters.getFirst().element_size();
    }

    /** The elements that a rank updates. */
    ShardRange part(int rank) {
        ShardRange lines = ShardRange.of(elements / lineElements, ranks, rank);
        return new ShardRange(lines.offset() * lineElements, lines.length() * lineElements);
    }

    /** Elements of each rank's part. */
    long[] partElements() {
        long[] parts = new long[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            parts[rank] = part(rank).length();
        }
        return parts;
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
            long end = i + 1 < offsets.length ? offsets[i + 1] : elements;
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
