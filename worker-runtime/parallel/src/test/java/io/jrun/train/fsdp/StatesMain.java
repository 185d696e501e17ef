package io.jrun.train.fsdp;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.StackTraining;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Trains as {@code args[0]} says and prints the bytes of the states of all ranks after the last step. */
final class StatesMain {
    private StatesMain() {}

    public static void main(String[] args) {
        Libtorch.setThreads(1);
        StackTraining kind = StackTraining.valueOf(args[0]);
        LocalWorld.run(ShardedMemoryTest.RANKS, world -> kind.train(world, 2, 64, 4, () -> {})); // first use of all
        long before = leastBytes();
        AtomicLong after = new AtomicLong();
        LocalWorld.run(
                ShardedMemoryTest.RANKS,
                world -> kind.train(world, ShardedMemoryTest.LAYERS, ShardedMemoryTest.WIDTH, 3, () -> {
                    world.group().barrier();
                    if (world.rank() == 0) {
                        after.set(leastBytes());
                    }
                    world.group().barrier();
                }));
        // Whole gradients lie in the group's memory, which the allocator does not count.
        boolean usesBuckets =
                kind == StackTraining.DDP || kind == StackTraining.ZERO_1 || kind == StackTraining.ZERO_1_OF_STAGES;
        long gradients = usesBuckets ? 4L * ShardedMemoryTest.RANKS * ShardedMemoryTest.PARAMETERS : 0;
        System.out.println("states of " + (after.get() - before + gradients) + " bytes");
        Runtime.getRuntime().halt(0);
    }

    /** The least of several counts: the JVM's own compiler allocates and frees some megabytes all the time. */
    private static long leastBytes() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            least = Math.min(least, LiveMemory.bytes());
            LockSupport.parkNanos(10_000_000);
        }
        return least;
    }
}
