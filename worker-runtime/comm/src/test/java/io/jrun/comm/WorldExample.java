package io.jrun.comm;

import java.lang.foreign.MemorySegment;

/** Adds arrays of all ranks. Start: {@code jrun --nproc-per-node=2 WorldExample.java}. */
public final class WorldExample {
    private WorldExample() {}

    /** Prints the sum. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            float[] sum = add(world, world.rank(), 1);
            System.out.println(sum[0] + " is the sum of the ranks, " + sum[1] + " their number");
        }
    }

    /** The sums of two numbers of each rank. */
    static float[] add(World world, float first, float second) {
        float[] numbers = {first, second};
        world.group().allReduce(MemorySegment.ofArray(numbers), DataType.F32, numbers.length, ReduceOp.SUM);
        return numbers;
    }
}
