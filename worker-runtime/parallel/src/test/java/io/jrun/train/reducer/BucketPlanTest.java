package io.jrun.train.reducer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.train.reducer.BucketPlan.Item;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Expected values are those of torch's own test, test_c10d_common.py ComputeBucketAssignmentTest, unless said. */
class BucketPlanTest {
    @Test
    void oneLimitOneType() {
        assertThat(plan(List.of(f32(100), f32(200), f32(100), f32(50)), 400, 400))
                .isEqualTo(List.of(List.of(0), List.of(1), List.of(2), List.of(3)));
    }

    @Test
    void oneLimitTwoTypes() {
        assertThat(plan(List.of(f32(50), f64(25), f32(50), f64(25), f32(50), f64(25)), 400, 400))
                .isEqualTo(List.of(List.of(0, 2), List.of(1, 3), List.of(4), List.of(5)));
    }

    @Test
    void twoLimitsOneType() {
        assertThat(plan(List.of(f32(10), f32(10), f32(10), f32(10)), 40, 80))
                .isEqualTo(List.of(List.of(0), List.of(1, 2), List.of(3)));
    }

    @Test
    void twoLimitsTwoTypes() {
        assertThat(plan(List.of(f32(50), f64(25), f32(50), f64(25), f32(50), f64(25)), 200, 400))
                .isEqualTo(List.of(List.of(0), List.of(1), List.of(2, 4), List.of(3, 5)));
    }

    @Test
    void followsTheGivenOrder() {
        List<Item> items = List.of(f32(10), f32(10), f32(10));
        assertThat(BucketPlan.of(items, BucketPlan.reverseRegistration(3), List.of(40L, 80L))
                        .buckets())
                .isEqualTo(List.of(List.of(2), List.of(1, 0)));
        assertThat(BucketPlan.of(items, List.of(1, 2, 0), List.of(80L)).buckets())
                .isEqualTo(List.of(List.of(1, 2), List.of(0)));
    }

    /** The n-th bucket of each type has the n-th limit, all further ones the last; worked out by hand. */
    @Test
    void aListOfLimits() {
        List<Item> items = List.of(f32(10), f32(10), f32(10), f32(10), f64(5), f32(10), f32(10), f32(10), f32(10));
        List<Integer> order = IntStream.range(0, items.size()).boxed().toList();
        assertThat(BucketPlan.of(items, order, List.of(40L, 80L, 120L)).buckets())
                .isEqualTo(List.of(List.of(0), List.of(1, 2), List.of(4), List.of(3, 5, 6), List.of(7, 8)));
    }

    /** Worked out by hand: 3 blocks of 4 MiB, a head of 1 MiB, an embedding of 30 MiB; last registered first. */
    @Test
    void aSmallModelUnderTheDefaultLimits() {
        long mib = 1L << 20;
        List<Item> items = List.of(bytes(30 * mib), bytes(12 * mib), bytes(12 * mib), bytes(12 * mib), bytes(mib));
        assertThat(BucketPlan.of(items, BucketPlan.reverseRegistration(5), ReducerOptions.DEFAULT.bucketBytes())
                        .buckets())
                .isEqualTo(List.of(List.of(4), List.of(3, 2, 1), List.of(0)));
    }

    @Test
    void everyParameterIsInExactlyOneBucket() {
        List<Item> items = IntStream.range(0, 97)
                .mapToObj(i -> i % 3 == 0 ? f64(i * 7L % 50 + 1) : f32(i * 11L % 60 + 1))
                .toList();
        List<Integer> members = new ArrayList<>();
        plan(items, 100, 300).forEach(members::addAll);
        assertThat(members).containsExactlyInAnyOrderElementsOf(BucketPlan.reverseRegistration(97));
    }

    private static List<List<Integer>> plan(List<Item> items, long first, long later) {
        List<Integer> order = IntStream.range(0, items.size()).boxed().toList();
        return BucketPlan.of(items, order, List.of(first, later)).buckets();
    }

    private static Item f32(long elements) {
        return new Item(DataType.F32, elements * 4);
    }

    private static Item f64(long elements) {
        return new Item(DataType.F64, elements * 8);
    }

    private static Item bytes(long bytes) {
        return new Item(DataType.F32, bytes);
    }
}
