package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** The trained parameters of a reducer, which numbers them, and their division into buckets. */
final class ReducedParameters {
    private final List<Parameter> all = new ArrayList<>();
    private final List<Part> parts = new ArrayList<>();
    private final int lateFrom;

    /** The parameters {@code first} to {@code end - 1}. */
    private record Part(int first, int end, int sequence) {}

    /**
     * Numbers the parameters.
     *
     * @param sequences the late ones last
     */
    ReducedParameters(List<ReductionSequence> sequences, ReductionGroups groups) {
        int late = Integer.MAX_VALUE;
        for (int sequence = 0; sequence < sequences.size(); sequence++) {
            late = sequences.get(sequence).isLate() ? Math.min(late, all.size()) : late;
            for (Map<String, Tensor> part : sequences.get(sequence).parts()) {
                int first = all.size();
                part.forEach((name, tensor) -> {
                    if (tensor.requires_grad()) {
                        all.add(Parameter.of(name, tensor, groups));
                    }
                });
                parts.add(new Part(first, all.size(), sequence));
            }
        }
        lateFrom = late;
    }

    List<Parameter> all() {
        return all;
    }

    /** Whether backward passes do not complete the gradient. */
    boolean isLate(int parameter) {
        return parameter >= lateFrom;
    }

    /** The buckets to begin with: a backward pass meets the layers from last to first. */
    List<Bucket> buckets(List<Long> limits) {
        return parts.stream()
                .flatMap(part -> {
                    List<Integer> order = BucketPlan.reverseRegistration(part.end() - part.first()).stream()
                            .map(i -> part.first() + i)
                            .toList();
                    return plan(part, order, limits).stream();
                })
                .toList();
    }

    /** The buckets of the one part in another order of its parameters. */
    List<Bucket> buckets(List<Long> limits, List<Integer> order) {
        return plan(parts.getFirst(), order, limits);
    }

    /** A bucket has parameters of one group. Buckets are ordered by their last parameter, as in {@link BucketPlan}. */
    private List<Bucket> plan(Part part, List<Integer> order, List<Long> limits) {
        List<BucketPlan.Item> items = all.stream()
                .map(parameter -> new BucketPlan.Item(parameter.type(), parameter.bytes()))
                .toList();
        Map<ProcessGroup, List<Integer>> byGroup = new LinkedHashMap<>();
        order.forEach(parameter -> byGroup.computeIfAbsent(all.get(parameter).group(), _ -> new ArrayList<>())
                .add(parameter));
        List<Bucket> buckets = new ArrayList<>();
        byGroup.forEach((group, members) -> BucketPlan.of(items, members, limits)
                .buckets()
                .forEach(bucket -> buckets.add(new Bucket(bucket, group, part.sequence()))));
        Map<Integer, Integer> places = new HashMap<>();
        order.forEach(parameter -> places.put(parameter, places.size()));
        buckets.sort(Comparator.comparingInt(
                bucket -> places.getOrDefault(bucket.parameters().getLast(), 0)));
        return buckets;
    }
}
