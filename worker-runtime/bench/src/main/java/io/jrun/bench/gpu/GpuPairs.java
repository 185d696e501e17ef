package io.jrun.bench.gpu;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.train.nccl.NcclProvider;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Measures NCCL between each pair of GPUs of a machine, one pair after another, for {@code jrun doctor}. jrun starts one
 * rank for each GPU. Takes less than a second for each pair after the start.
 */
public final class GpuPairs {
    /** More than a bucket of DDP, so that the rate is that of the link. */
    private static final String LARGE_BYTES = Integer.toString(64 << 20);

    private static final int LARGE_REDUCTIONS = 8;
    private static final int SMALL_REDUCTIONS = 50;

    /** The first operations of a communicator connect it. */
    private static final int WARM_UP = 3;

    private final World world;
    private final ProcessGroup pair;
    private final long largeBytes;

    private GpuPairs(World world, ProcessGroup pair, long largeBytes) {
        this.world = world;
        this.pair = pair;
        this.largeBytes = largeBytes;
    }

    /**
     * Prints a line for each pair, with tabs between its words: {@code pair}, the two ranks, the bytes of an all-reduce
     * divided by its seconds, and the microseconds of an all-reduce of four bytes. Without NCCL prints {@code skipped}
     * and the reason.
     *
     * @param args empty, or the bytes of the large all-reduce, a multiple of four; by default 64 MiB
     */
    public static void main(String[] args) {
        long largeBytes = Long.parseLong(args.length == 0 ? LARGE_BYTES : args[0]);
        try (World world = Distributed.init()) {
            Optional<String> reason = new NcclProvider().unavailableReason();
            if (reason.isPresent()) {
                if (world.rank() == 0) {
                    System.out.println("skipped\t" + reason.get());
                }
                return;
            }
            for (int first = 0; first < world.size(); first++) {
                for (int second = first + 1; second < world.size(); second++) {
                    if (world.rank() == first || world.rank() == second) {
                        measure(world, first, second, largeBytes);
                    }
                    world.group().barrier();
                }
            }
        }
    }

    private static void measure(World world, int first, int second, long largeBytes) {
        try (ProcessGroup pair = world.group()
                .newGroup(List.of(first, second), world.group().options().withBackend("nccl"))) {
            new GpuPairs(world, pair, largeBytes).print(first, second);
        }
    }

    private void print(int first, int second) {
        long large = nanos(largeBytes, LARGE_REDUCTIONS);
        long small = nanos(Float.BYTES, SMALL_REDUCTIONS);
        if (world.rank() == first) {
            System.out.printf(
                    Locale.ROOT, "pair\t%d\t%d\t%.0f\t%.1f%n", first, second, largeBytes * 1e9 / large, small / 1e3);
        }
    }

    /** The median time of an all-reduce. Between two ranks each rank sends and receives the buffer once. */
    private long nanos(long bytes, int reductions) {
        try (DeviceMemory memory = new DeviceMemory(Device.cuda(0), bytes)) {
            Buffer buffer = memory.buffer(DataType.F32);
            long[] nanos = new long[reductions];
            for (int i = -WARM_UP; i < reductions; i++) {
                long start = System.nanoTime();
                pair.allReduceAsync(buffer, ReduceOp.SUM).await();
                nanos[Math.max(i, 0)] = System.nanoTime() - start;
            }
            Arrays.sort(nanos);
            return nanos[reductions / 2];
        }
    }
}
