package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Allocations of a blocking call on registered memory after its code is compiled. */
@Timeout(180)
@Tag("optimized")
class AllocationTest {
    private static final int CALLS = 1000;

    /** The compiler is done long before. */
    private static final int TURNS = 60;

    private static final long BYTES = 64 << 10;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /**
     * Makes the measured calls: calls of two sizes in turn, so that no call can reuse the objects of the call before.
     */
    @FunctionalInterface
    private interface Calls {
        Runnable of(ProcessGroup group, MemorySegment first, MemorySegment second);
    }

    @Test
    void allReduceOnRegisteredMemoryAllocatesNothing() {
        assertAllocatesNothing((group, first, second) -> () -> {
            for (int call = 0; call < CALLS / 2; call++) {
                group.allReduce(first, DataType.F32, BYTES / Float.BYTES, ReduceOp.MAX);
                group.allReduce(second, DataType.F32, BYTES / Float.BYTES / 2, ReduceOp.MAX);
            }
        });
    }

    @Test
    void allReduceOfBuffersAllocatesNothing() {
        assertAllocatesNothing((group, first, second) -> {
            Buffer whole = Buffer.ofHost(first, DataType.F32, BYTES / Float.BYTES);
            Buffer half = Buffer.ofHost(second, DataType.F32, BYTES / Float.BYTES / 2);
            return () -> {
                for (int call = 0; call < CALLS / 2; call++) {
                    group.allReduce(whole, ReduceOp.MAX);
                    group.allReduce(half, ReduceOp.MAX);
                }
            };
        });
    }

    private static void assertAllocatesNothing(Calls calls) {
        Map<Integer, Long> allocated = new ConcurrentHashMap<>();
        LocalWorld.run(LocalWorldOptions.ofSize(2).withTransport(TransportKind.SHM), world -> {
            ProcessGroup group = world.group();
            MemorySegment first = group.allocate(BYTES);
            MemorySegment second = group.allocate(BYTES);
            Runnable measured = calls.of(group, first, second);
            long least = Long.MAX_VALUE;
            for (int turn = 0; turn < TURNS; turn++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                measured.run();
                least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
                if (isZeroEverywhere(group, least)) {
                    break;
                }
            }
            allocated.put(world.rank(), least);
        });
        assertThat(allocated)
                .hasSize(2)
                .allSatisfy((_, bytes) -> assertThat(bytes).isZero());
    }

    private static boolean isZeroEverywhere(ProcessGroup group, long bytes) {
        long[] most = {bytes};
        group.allReduce(MemorySegment.ofArray(most), DataType.I64, 1, ReduceOp.MAX);
        return most[0] == 0;
    }
}
