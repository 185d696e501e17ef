package io.jrun.train.reducer;

import io.jrun.comm.DataType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The parameters that are reduced together, in the order in which the buckets are reduced. The plan is a pure function
 * of its arguments, so that all ranks have the same plan.
 *
 * @param buckets parameter numbers; each parameter is in exactly one bucket
 */
public record BucketPlan(List<List<Integer>> buckets) {
    public BucketPlan {
        buckets = buckets.stream().map(List::copyOf).toList();
    }

    /** Type and size of a parameter: the input of the plan. */
    public record Item(DataType type, long bytes) {}

    /**
     * Fills buckets in {@code order}. A bucket holds one element type. A bucket is full when its bytes reach or exceed
     * its limit. The n-th bucket of each type has the n-th limit; later buckets have the last limit. Buckets are
     * ordered by their last parameter, because a bucket is ready when its last gradient is ready. Source: c10d
     * reducer.cpp, {@code compute_bucket_assignment_by_size}.
     */
    public static BucketPlan of(List<Item> items, List<Integer> order, List<Long> limits) {
        Map<DataType, Filling> open = new EnumMap<>(DataType.class);
        List<Filling> full = new ArrayList<>();
        Map<DataType, Integer> filled = new EnumMap<>(DataType.class);
        for (int place = 0; place < order.size(); place++) {
            int parameter = order.get(place);
            Item item = items.get(parameter);
            Filling bucket = open.computeIfAbsent(item.type(), _ -> new Filling());
            bucket.add(parameter, item.bytes(), place);
            int number = filled.getOrDefault(item.type(), 0);
            if (bucket.bytes >= limits.get(Math.min(number, limits.size() - 1))) {
                full.add(bucket);
                open.remove(item.type());
                filled.put(item.type(), number + 1);
            }
        }
        full.addAll(open.values());
        full.sort(Comparator.comparingInt(bucket -> bucket.lastPlace));
        return new BucketPlan(full.stream().map(bucket -> bucket.members).toList());
    }

    /** The order to begin with: a backward pass meets the layers from last to first. */
    public static List<Integer> reverseRegistration(int parameterCount) {
        return IntStream.range(0, parameterCount)
                .map(i -> parameterCount - 1 - i)
                .boxed()
                .toList();
    }

    private static final class Filling {
        private final List<Integer> members = new ArrayList<>();
        private long bytes;
        private int lastPlace;

        void add(int parameter, long parameterBytes, int place) {
            members.add(parameter);
            bytes += parameterBytes;
            lastPlace = place;
        }
    }
}
