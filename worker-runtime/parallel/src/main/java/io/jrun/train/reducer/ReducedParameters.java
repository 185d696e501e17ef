package io.jrun.train.reducer;

import java.util.ArrayList;
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

    /** @param sequences the late ones last */
    ReducedParameters(List<ReductionSequence> sequences) {
        int late = Integer.MAX_VALUE;
        for (int sequence = 0; sequence < sequences.size(); sequence++) {
            late = sequences.get(sequence).isLate() ? Math.min(late, all.size()) : late;
            for (Map<String, Tensor> part : sequences.get(sequence).parts()) {
                int first = all.size();
                part.forEach((name, tensor) -> {
                    if (tensor.requires_grad()) {
                        all.add(Parameter.of(name, tensor));
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

    private List<Bucket> plan(Part part, List<Integer> order, List<Long> limits) {
        List<BucketPlan.Item> items = all.stream()
                .map(parameter -> new BucketPlan.Item(parameter.type(), parameter.bytes()))
                .toList();
        return BucketPlan.of(items, order, limits).buckets().stream()
                .map(members -> new Bucket(members, part.sequence()))
                .toList();
    }
}
